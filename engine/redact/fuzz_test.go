package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/redact"
)

// simply defines redaction for one-line secrets without JSON escapes: all bytes of a secret are
// marked, and secrets that share a byte give one Mask.
func simply(text string, secrets []string) string {
	// a secret begins here; this byte is one with the byte before
	opens, inside := make([]bool, len(text)+1), make([]bool, len(text)+1)
	covered := make([]bool, len(text)+1)
	for _, s := range secrets {
		for i := range len(text) {
			if !strings.HasPrefix(text[i:], s) {
				continue
			}
			opens[i], covered[i] = true, true
			for j := i + 1; j < i+len(s); j++ {
				covered[j], inside[j] = true, true
			}
		}
	}
	var b strings.Builder
	for i := range len(text) {
		switch {
		case !covered[i]:
			b.WriteByte(text[i])
		case opens[i] && !inside[i]:
			b.WriteString(redact.Mask)
		}
	}
	return b.String()
}

// encodings returns a secret's encodings at each offset.
func encodings(s string) (all []string) {
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		for _, before := range []string{"", "a", "ab"} {
			// The characters that do not depend on the surrounding text.
			one, two := enc.EncodeToString([]byte(before+s+"\x00\x00\x00")),
				enc.EncodeToString([]byte(strings.Repeat("\xff", len(before))+s+"\xff\xff\xff"))
			from := len(before)*2 - max(0, len(before)-1)
			to := from
			for one[to] == two[to] {
				to++
			}
			all = append(all, one[from:to])
		}
	}
	return append(all, hex.EncodeToString([]byte(s)), strings.ToUpper(hex.EncodeToString([]byte(s))),
		url.QueryEscape(s), url.PathEscape(s))
}

// FuzzRedact: however a text is split, its secrets are removed as from the whole, and none is left.
func FuzzRedact(f *testing.F) {
	f.Add("hunter2", "in-hunter2-out", "x hunter2 in-hunter2-ou in-hunter2-out", []byte{3, 1, 200})
	f.Add("aaaaaa", "aaaaaab", "aaaaaaaaaaaaab aaaaa", []byte{1})
	f.Add("abcabcabd", "cabcab", "abcabcabcabdabcabcab", []byte{7, 5})
	f.Add("edacted]", "[redact", "[redacted] redacted", []byte{2})
	f.Fuzz(func(t *testing.T, one, two, text string, cuts []byte) {
		secrets := []string{one, two}
		for _, s := range secrets {
			if redact.Check(s) != nil || strings.TrimSpace(s) != s || s == "" || !plain(s) {
				return
			}
		}
		r := of(t, secrets...)
		all := slices.Clone(secrets)
		for _, s := range secrets {
			all = append(all, encodings(s)...)
		}
		want := simply(text, all)
		require.Equal(t, want, r.String(text))

		read, err := io.ReadAll(r.Reader(&pieces{text: text, cuts: cuts}))
		require.NoError(t, err)
		require.Equal(t, want, string(read), "read in pieces")

		var out bytes.Buffer
		w := r.Writer(&out)
		_, err = io.Copy(w, struct{ io.Reader }{iotest.DataErrReader(&pieces{text: text, cuts: cuts})})
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.Equal(t, want, out.String(), "written in pieces")

		for _, s := range secrets {
			if !strings.ContainsAny(s, "[]") { // otherwise a mask and its neighbours may spell it
				require.NotContains(t, want, s)
			}
		}
	})
}

// plain: the text has one spelling.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || strings.IndexByte(`"\/<>&`, s[i]) >= 0 {
			return false
		}
	}
	return true
}

// pieces reads the text in pieces with the lengths of cuts, cyclically.
type pieces struct {
	text string
	cuts []byte
	next int
}

func (p *pieces) Read(buf []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := len(p.text)
	if len(p.cuts) > 0 {
		n = min(n, int(p.cuts[p.next%len(p.cuts)]))
		p.next++
	}
	if n == 0 && p.next%7 > 0 { // an occasional empty read is allowed
		return 0, nil
	}
	n = copy(buf, p.text[:max(n, 1)])
	p.text = p.text[n:]
	return n, nil
}
