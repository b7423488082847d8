package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/interlude-go/interlude/interaction"
)

type printer struct {
	out    io.Writer
	failed error
}

func (p *printer) linef(format string, args ...any) {
	if p.failed == nil {
		_, p.failed = fmt.Fprintf(p.out, format+"\n", args...)
	}
}

func (p *printer) object(v any) {
	body, err := json.Marshal(v)
	if err != nil && p.failed == nil {
		p.failed = err
	}
	p.linef("%s", body)
}

// printable escapes characters that a terminal would interpret or hide, since texts come from logs
// and file names.
func printable(s string) string {
	clean := func(r rune) bool {
		return r != unicode.ReplacementChar && unicode.IsPrint(r) && interaction.CharacterOf(r)&interaction.Hidden == 0
	}
	if strings.IndexFunc(s, func(r rune) bool { return !clean(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch quoted := strconv.QuoteRuneToASCII(r); {
		case clean(r):
			b.WriteRune(r)
		case r == unicode.ReplacementChar && s[i] != "\ufffd"[0]:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == unicode.ReplacementChar:
			b.WriteRune(r)
		default:
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// wrap breaks a text into lines of about width characters.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
