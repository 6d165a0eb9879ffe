package stage

const machine = 183 // EM_AARCH64
