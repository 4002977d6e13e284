package history

import "bytes"

// inUTF16 and asUTF8 say what was found in such a file, and what to do.
const (
	inUTF16 = "text in UTF-16"
	asUTF8  = "save the file as UTF-8"
)

// InUTF16 reports whether a file that begins with head is text in UTF-16, as some
// editors and shells of Windows write it: its byte order mark is there, or every
// other byte of its first characters is 0.
func InUTF16(head []byte) bool {
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return true
	}
	return len(head) >= 4 && (head[0] == 0) != (head[1] == 0) && (head[0] == 0) == (head[2] == 0) && (head[1] == 0) == (head[3] == 0)
}
