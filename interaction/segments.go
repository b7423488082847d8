package interaction

import "strings"

// segment is a part of an agent's text: lines of prose, a fenced block, or a tagged question.
type segment struct {
	kind   segmentKind
	raw    string // as it stands, with its line breaks
	info   string // of a fence: what follows the backticks, lower case
	body   string // of a fence or a tag: what stands inside
	closed bool   // of a fence or a tag: it has an end
}

type segmentKind int

const (
	prose segmentKind = iota
	fence
	tag
	unread // what is left of a question that could not be read: shown to people, and nothing else
)

const (
	openTag  = "<ASK_USER_YAML>"
	closeTag = "</ASK_USER_YAML>"
)

// segments parts a text, each line looked at once; without tagging, tags are prose. Unended reports
// that a tagged question is opened and never ended; its text is prose like any other.
func segments(text string, tagging bool) (all []segment, unended bool) {
	lines := 0 // length of the prose just before text
	whole := text
	tags := tagFinder{text: text}
	flush := func() {
		if lines > 0 {
			end := len(whole) - len(text)
			all = append(all, segment{kind: prose, raw: whole[end-lines : end]})
			lines = 0
		}
	}
	for len(text) > 0 {
		line, rest := nextLine(text)
		if mark, info := fenceOpen(line); mark != "" {
			flush()
			s, after := fenced(text, rest, mark, info)
			all, text = append(all, s), after
			continue
		}
		if i := tagged(line); tagging && i >= 0 {
			at := len(whole) - len(text) + i
			end, ok := tags.endOf(at)
			if ok {
				lines, text = lines+i, text[i:]
				flush()
				s, after := tagOf(text, end-at)
				all, text = append(all, s), after
				continue
			}
			unended = unended || end == -1
		}
		lines += len(line)
		text = rest
	}
	flush()
	return all, unended
}

// nextLine returns the first line with its line break, and what follows.
func nextLine(text string) (line, rest string) {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return text[:i+1], text[i+1:]
	}
	return text, ""
}

// fenceOpen returns the fence that the line opens, at least three backticks or tildes, and its
// info.
func fenceOpen(line string) (mark, info string) {
	s := strings.TrimRight(line, " \t\r\n")
	indent := len(s) - len(strings.TrimLeft(s, " "))
	s = s[indent:]
	if indent > 3 || len(s) < 3 || (s[0] != '`' && s[0] != '~') {
		return "", ""
	}
	n := len(s) - len(strings.TrimLeft(s, s[:1]))
	info = strings.ToLower(strings.TrimSpace(s[n:]))
	if n < 3 || (s[0] == '`' && strings.IndexByte(info, '`') >= 0) {
		return "", ""
	}
	return s[:n], info
}

// fenced reads the block whose opening line stands at the beginning of text; rest is what follows
// that line.
func fenced(text, rest, mark, info string) (s segment, after string) {
	begin := len(text) - len(rest)
	for at := rest; len(at) > 0; {
		line, next := nextLine(at)
		if m, i := fenceOpen(line); m != "" && i == "" && m[0] == mark[0] && len(m) >= len(mark) {
			end := len(text) - len(at)
			return segment{kind: fence, raw: text[:len(text)-len(next)], info: info, body: text[begin:end],
				closed: true}, next
		}
		at = next
	}
	return segment{kind: fence, raw: text, info: info, body: rest}, ""
}
