package tools

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	_ "image/gif"  // for image.DecodeConfig
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise
)

// Limits of an image that vendors take: Anthropic's are 5 MiB in base64 and 8000 pixels a side, the
// tightest of those we speak to.
const (
	maxImage     = 5 << 20 / 4 * 3
	maxImageSide = 8000
)

// imageType returns the media type of the images that models take, by content, or "".
func imageType(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(head, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(head, []byte("GIF87a")), bytes.HasPrefix(head, []byte("GIF89a")):
		return "image/gif"
	case len(head) >= 16 && string(head[:4]) == "RIFF" && string(head[8:15]) == "WEBPVP8":
		return "image/webp"
	}
	return ""
}

// imageSize reads the size in pixels from the image's header.
func imageSize(media string, data []byte) (width, height int, err error) {
	if media == "image/webp" {
		return webpSize(data)
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	return c.Width, c.Height, err
}

var errShortWebP = errors.New("its header is cut off")

// webpSize reads the first chunk of a WebP file (RFC 9649, sections 2.5 to 2.7).
func webpSize(data []byte) (width, height int, err error) {
	if len(data) < 30 {
		return 0, 0, errShortWebP
	}
	switch string(data[12:16]) {
	case "VP8 ": // after a frame tag of three bytes and the start code
		if string(data[23:26]) != "\x9d\x01\x2a" {
			return 0, 0, errShortWebP
		}
		const mask = 1<<14 - 1 // the two bits above are a scale
		return int(binary.LittleEndian.Uint16(data[26:]) & mask), int(binary.LittleEndian.Uint16(data[28:]) & mask), nil
	case "VP8L": // after a signature byte: fourteen bits each, less one
		if data[20] != 0x2f {
			return 0, 0, errShortWebP
		}
		bits := binary.LittleEndian.Uint32(data[21:])
		return int(bits&(1<<14-1)) + 1, int(bits>>14&(1<<14-1)) + 1, nil
	case "VP8X": // three bytes each, less one
		le24 := func(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
		return le24(data[24:]) + 1, le24(data[27:]) + 1, nil
	}
	return 0, 0, errShortWebP
}
