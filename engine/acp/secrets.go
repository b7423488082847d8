package acp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"
)

// redacted stands where a secret stood.
const redacted = "[redacted]"

// minSecret is the shortest value, in bytes, that can be told from other text.
const minSecret = 4

// redactor takes the values of secret variables out of texts.
type redactor struct{ replace *strings.Replacer }

// newRedactor knows the values as they are, and as JSON writes them.
func newRedactor(values []string) redactor {
	var forms []string
	for _, v := range values {
		if len(v) < minSecret {
			continue
		}
		var plain bytes.Buffer
		enc := json.NewEncoder(&plain)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(v) // a string can be encoded
		html, _ := json.Marshal(v)
		inner := func(quoted string) string {
			return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(quoted), `"`), `"`)
		}
		forms = append(forms, v, inner(plain.String()), inner(string(html)), ascii(inner(plain.String())))
	}
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) }) // one may be part of another
	pairs := make([]string, 0, 2*len(forms))
	for _, form := range slices.Compact(forms) {
		pairs = append(pairs, form, redacted)
	}
	return redactor{strings.NewReplacer(pairs...)}
}

// ascii is a JSON text as those write it who escape all that is not ASCII.
func ascii(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < 0x80 {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

func (r redactor) text(s string) string { return r.replace.Replace(s) }

// longAside bounds a line of the error output, in bytes: what is longer is several lines.
const longAside = 64 << 10

// asides are the error output of an agent, line by line, without its secrets.
type asides struct {
	redactor
	to *transcript

	mu   sync.Mutex
	rest []byte // guarded by mu; a line that has not ended
}

// Write never fails.
func (a *asides) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rest = append(a.rest, p...)
	for {
		n := bytes.IndexByte(a.rest, '\n')
		if n < 0 && len(a.rest) < longAside {
			return len(p), nil
		}
		if n < 0 {
			n = len(a.rest)
		}
		a.to.keep("", a.text(string(a.rest[:n])))
		a.rest = append(a.rest[:0], a.rest[min(n+1, len(a.rest)):]...)
	}
}

// close keeps the last line, and nothing after it.
func (a *asides) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.rest) > 0 {
		a.to.keep("", a.text(string(a.rest)))
		a.rest = nil
	}
	a.to.close()
}
