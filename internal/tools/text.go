package tools

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sniffLen is how much of a file decides whether it is text, as in git.
const sniffLen = 8000

const bom = "\ufeff"

// isBinary says whether a file that begins so is not text: git's rule, a NUL byte.
func isBinary(head []byte) bool {
	return bytes.IndexByte(head[:min(len(head), sniffLen)], 0) >= 0
}

// signatures are the first bytes of kinds of files that models meet; longer ones first where they overlap.
var signatures = []struct{ magic, kind string }{
	{"\x7fELF", "ELF program or library"},
	{"\xcf\xfa\xed\xfe", "Mach-O program or library"},
	{"\xca\xfe\xba\xbe", "Java class or Mach-O library"},
	{"MZ", "Windows program or library"},
	{"\x00asm", "WebAssembly"},
	{"%PDF-", "PDF document"},
	{"PK\x03\x04", "ZIP archive, or a document made of one"},
	{"\x1f\x8b", "gzip archive"},
	{"BZh", "bzip2 archive"},
	{"\xfd7zXZ\x00", "xz archive"},
	{"\x28\xb5\x2f\xfd", "zstd archive"},
	{"7z\xbc\xaf\x27\x1c", "7z archive"},
	{"!<arch>\n", "ar archive or static library"},
	{"SQLite format 3\x00", "SQLite database"},
	{"\xff\xfe", "UTF-16 text"},
	{"\xfe\xff", "UTF-16 text"},
	{"\x00\x00\x01\x00", "icon"},
	{"BM", "BMP image"},
	{"II*\x00", "TIFF image"},
	{"MM\x00*", "TIFF image"},
	{"OggS", "Ogg media"},
	{"ID3", "MP3 audio"},
	{"\x00\x00\x00\x18ftyp", "MP4 media"},
	{"\x00\x00\x00\x20ftyp", "MP4 media"},
}

// binaryKind names what a binary file is, as far as its first bytes tell.
func binaryKind(head []byte) string {
	for _, s := range signatures {
		if bytes.HasPrefix(head, []byte(s.magic)) {
			return s.kind
		}
	}
	if len(head) > 262 && string(head[257:262]) == "ustar" {
		return "tar archive"
	}
	return "unknown kind"
}

// cutLine returns the beginning of a line as text of at most limit bytes, cut between characters and
// marked if the whole line, of length bytes, is longer.
func cutLine(head []byte, length, limit int) string {
	if length <= limit {
		return string(head)
	}
	cut := min(limit, len(head))
	for back := 1; back < utf8.UTFMax && cut-back > 0 && cut < len(head) && !utf8.RuneStart(head[cut]); back++ {
		cut--
	}
	return fmt.Sprintf("%s … [%d bytes cut]", head[:cut], length-cut)
}

// cleanText replaces what is not UTF-8, and NUL, which not every vendor's wire carries.
func cleanText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

// printable returns a path as it is or, where it would break a line or a screen, quoted.
func printable(name string) string {
	if utf8.ValidString(name) && strings.IndexFunc(name, unprintable) < 0 {
		return name
	}
	return fmt.Sprintf("%q", name)
}

func unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// Line ends of a text.
type lineEnds uint8

const (
	endsLF lineEnds = iota // or no line end at all
	endsCRLF
	endsMixed
)

func lineEndsOf(text string) lineEnds {
	crlf, lf := strings.Count(text, "\r\n"), strings.Count(text, "\n")
	switch {
	case crlf == 0:
		return endsLF
	case crlf == lf:
		return endsCRLF
	}
	return endsMixed
}
