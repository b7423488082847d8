package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf16"
)

// patterns are the byte sequences by which a value is found. None begins or ends with white space,
// so a line's end never looks like the beginning of a secret.
func patterns(value string) []string {
	value = strings.TrimSpace(value)
	if value == "" {
		return nil
	}
	all := append(spellings(value), encoded(value)...)
	// A key in a variable often has its line breaks written as \n, which its readers turn into real
	// ones.
	lines := strings.Split(strings.NewReplacer("\r", "\n", `\r`, "\n", `\n`, "\n").Replace(value), "\n")
	if len(lines) == 1 {
		return all
	}
	for _, line := range lines {
		if line = strings.TrimSpace(line); len(line) >= MinLine && !strings.Contains(Mask, line) {
			all = append(all, spellings(line)...)
		}
	}
	return all
}

// encoded are a value's encodings in base64, hexadecimal and percent encoding, also within longer
// texts: for base64 the characters that depend only on the value, for each of its three offsets.
func encoded(value string) []string {
	all := []string{
		hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value))), url.QueryEscape(value),
		url.PathEscape(value),
	}
	for before := range 3 {
		bits := base64.StdEncoding.EncodeToString(append(make([]byte, before), value...))
		from, to := (8*before+5)/6, 8*(before+len(value))/6
		all = append(all, bits[from:to], strings.NewReplacer("+", "-", "/", "_").Replace(bits[from:to]))
	}
	return distinct(all)
}

// spellings are a text verbatim and in JSON, escaped once and twice (JSON within a JSON string).
func spellings(text string) []string {
	all := []string{text}
	for range 2 {
		for _, s := range all {
			all = append(all, escaped(s)...)
		}
		all = distinct(all)
	}
	return all
}

// escaped returns the spellings of a text by JSON encoders that escape different characters: only
// where required; also <, > and &; also slashes; also non-ASCII characters.
func escaped(text string) []string {
	var plain strings.Builder
	e := json.NewEncoder(&plain)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string can be encoded
	least := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(plain.String(), "\n"), `"`), `"`)
	// Only Go escapes these two; JavaScript's backspace and form feed are the same as Go's.
	least = strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(least)
	html := strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "\u2028", `\u2028`, "\u2029",
		`\u2029`).Replace(least)
	return []string{least, html, strings.ReplaceAll(least, "/", `\/`), ascii(least, `\u%04x`), ascii(least, `\u%04X`)}
}

func ascii(text, format string) string {
	var b strings.Builder
	for _, c := range text {
		if c < 0x80 {
			b.WriteByte(byte(c))
			continue
		}
		for _, unit := range utf16.AppendRune(nil, c) {
			fmt.Fprintf(&b, format, unit)
		}
	}
	return b.String()
}

func distinct(texts []string) []string {
	seen := make(map[string]bool, len(texts))
	kept := texts[:0]
	for _, t := range texts {
		if !seen[t] {
			seen[t] = true
			kept = append(kept, t)
		}
	}
	return kept
}
