//go:build !unix

package journal

// noFollow is what Windows has not: opening a link is found out by comparing the file afterwards.
const noFollow = 0
