package interaction

import "strings"

// tagged returns where the line opens a tagged question, -1 where it does not: one that is quoted,
// or stands in a code span, is only spoken of.
func tagged(line string) int {
	i := strings.Index(line, openTag)
	if i < 0 || strings.HasPrefix(strings.TrimSpace(line), ">") || (i > 0 && line[i-1] == '`') {
		return -1
	}
	return i
}

// tagFinder finds the ends of tagged questions. It is asked for places in rising order, and looks
// at each byte of the text once.
type tagFinder struct {
	text        string
	opens, ends place
}

// place is the next occurrence of a mark that is known.
type place struct {
	at     int
	sought bool
}

// from is where the mark stands at or after start; len(text) when nowhere.
func (p *place) from(text, mark string, start int) int {
	if !p.sought || p.at < start {
		p.sought, p.at = true, len(text)
		if i := strings.Index(text[start:], mark); i >= 0 {
			p.at = start + i
		}
	}
	return p.at
}

// endOf returns where the question that is opened at a place ends. It is none when a line opens
// another one before that end, since the tag was only named then, or when there is no end at all:
// end is -1.
func (f *tagFinder) endOf(open int) (end int, ok bool) {
	inside := open + len(openTag)
	end = f.ends.from(f.text, closeTag, inside)
	if end == len(f.text) {
		return -1, false
	}
	return end, f.opens.from(f.text, "\n"+openTag, inside) > end
}

// tagOf reads the tagged question at the beginning of text, whose closing tag stands at end.
func tagOf(text string, end int) (s segment, after string) {
	body := text[len(openTag):end]
	after = text[end+len(closeTag):]
	if inner, _ := segments(strings.TrimLeft(body, " \t\r\n"), true); len(inner) > 0 && inner[0].kind == fence {
		body = inner[0].body // a fence inside the tag
	}
	return segment{kind: tag, raw: text[:len(text)-len(after)], body: body, closed: true}, after
}
