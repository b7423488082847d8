package slack

import (
	"strings"
	"unicode/utf8"

	sdk "github.com/slack-go/slack"

	"github.com/interlude-go/interlude/interaction"
)

// Slack's limits in characters. Texts are cut by bytes, which is never too long.
const (
	maxSection = 3000
	maxButton  = 75
	maxHint    = 2000
	maxInput   = 3000
	// maxSections limits the sections of a question; Slack refuses messages that are much longer.
	maxSections = 4
	maxNotice   = 300 // of the text in notifications
)

// escape disables mentions and links, also where Slack resolves entities in plain text.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// fit returns the length of the longest prefix of the text whose escaped form has at most limit
// bytes. It splits no grapheme that is shorter than the limit.
func fit(text string, limit int) int {
	size := 0
	for i, r := range text {
		n := utf8.RuneLen(r)
		switch r {
		case '&':
			n = len("&amp;")
		case '<', '>':
			n = len("&lt;")
		}
		if size += n; size > limit {
			if at := interaction.Break(text, i); at > 0 {
				return at
			}
			return i
		}
	}
	return len(text)
}

// split cuts a text into parts that fit into a section, at line ends where possible.
func split(text string) (parts []string) {
	for text != "" {
		n := fit(text, maxSection)
		if n < len(text) {
			if line := strings.LastIndexByte(text[:n], '\n') + 1; line > n/2 {
				n = line
			}
		}
		parts = append(parts, text[:n])
		text = text[n:]
	}
	return parts
}

// cut shortens a text that does not fit, and ends it with dots.
func cut(text string, limit int) string {
	const dots = "…"
	if n := fit(text, limit); n < len(text) {
		return text[:fit(text, limit-len(dots))] + dots
	}
	return text
}

// plain returns a text object in which Slack interprets nothing. Slack would refuse a blank text.
func plain(text string) *sdk.TextBlockObject {
	if strings.TrimSpace(text) == "" {
		text = "–"
	}
	return sdk.NewTextBlockObject(sdk.PlainTextType, escape.Replace(text), false, false)
}

// section returns a block of text.
func section(text string) sdk.Block {
	return sdk.NewSectionBlock(plain(text), nil, nil)
}

// userOf returns the user's id from an address.
func userOf(address string) string {
	if _, user, ok := strings.Cut(address, ":"); ok {
		return user
	}
	return address
}
