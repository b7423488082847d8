package interaction

import (
	"strings"
)

// segment is a part of an agent's text: prose, a fenced block, or a tagged question.
type segment struct {
	kind   segmentKind
	raw    string // as written, with line breaks
	info   string // of a fence: the text after the backticks, in lower case
	body   string // of a fence or a tag: the content
	closed bool   // of a fence or a tag: it has an end
}

type segmentKind int

const (
	prose segmentKind = iota
	fence
	tag
	unreadable // the beginning of an unreadable question; only shown to people
)

const (
	openTag  = "<ASK_USER_YAML>"
	closeTag = "</ASK_USER_YAML>"
)

// segments splits a text, reading each line once. Without tagging, tags are prose. unended reports
// an opened tag without an end; its text is prose.
func segments(text string, tagging bool) (all []segment, unended bool) {
	proseLen := 0 // length of the prose just before text
	whole := text
	tags := tagFinder{text: text}
	flush := func() {
		if proseLen > 0 {
			end := len(whole) - len(text)
			all = append(all, segment{kind: prose, raw: whole[end-proseLen : end]})
			proseLen = 0
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
		if i := tagStart(line); tagging && i >= 0 {
			at := len(whole) - len(text) + i
			end, ok := tags.endOf(at)
			if ok {
				proseLen, text = proseLen+i, text[i:]
				flush()
				s, after := tagOf(text, end-at)
				all, text = append(all, s), after
				continue
			}
			unended = unended || end == -1
		}
		proseLen += len(line)
		text = rest
	}
	flush()
	return all, unended
}

func nextLine(text string) (line, rest string) {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return text[:i+1], text[i+1:]
	}
	return text, ""
}

// fenceOpen returns the fence that the line opens, at least three backticks or tildes, and its info
// string.
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

// fenced reads the block whose opening line begins text; rest follows that line.
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

// tagStart returns the offset of an opening tag in the line, or -1. A tag in a quotation or code
// span does not count.
func tagStart(line string) int {
	i := strings.Index(line, openTag)
	if i < 0 || strings.HasPrefix(strings.TrimSpace(line), ">") || (i > 0 && line[i-1] == '`') {
		return -1
	}
	return i
}

// tagFinder finds the ends of tagged questions. Calls must have rising positions, so that each byte
// is read once.
type tagFinder struct {
	text        string
	opens, ends nextMark
}

type nextMark struct {
	at     int
	sought bool
}

// from returns the position of the mark at or after start, or len(text).
func (p *nextMark) from(text, mark string, start int) int {
	if !p.sought || p.at < start {
		p.sought, p.at = true, len(text)
		if i := strings.Index(text[start:], mark); i >= 0 {
			p.at = start + i
		}
	}
	return p.at
}

// endOf returns the end of the question opened at this position; -1 and false without one. If a
// line opens another question before the end, ok is false: the text only mentions the first tag.
func (f *tagFinder) endOf(open int) (end int, ok bool) {
	inside := open + len(openTag)
	end = f.ends.from(f.text, closeTag, inside)
	if end == len(f.text) {
		return -1, false
	}
	return end, f.opens.from(f.text, "\n"+openTag, inside) > end
}

func tagOf(text string, end int) (s segment, after string) {
	body := text[len(openTag):end]
	after = text[end+len(closeTag):]
	if inner, _ := segments(strings.TrimLeft(body, " \t\r\n"), true); len(inner) > 0 && inner[0].kind == fence {
		body = inner[0].body // a fence inside the tag
	}
	return segment{kind: tag, raw: text[:len(text)-len(after)], body: body, closed: true}, after
}
