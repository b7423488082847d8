package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/redact"
)

func of(tb testing.TB, values ...string) *redact.Redactor {
	tb.Helper()
	r, err := redact.New(values...)
	require.NoError(tb, err)
	return r
}

const key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq/hkiG9w0BAQEF\nAASCBKcwggSjAgEAAoIBAQC7\nVb==\n-----END " +
	"PRIVATE KEY-----\n"

// A secret is removed wherever it is, in each of its spellings.
func TestSecretIsReplaced(t *testing.T) {
	quoted := func(v any) string {
		body, err := json.Marshal(v)
		require.NoError(t, err)
		return string(body)
	}
	const odd = `a"b\c<d>/é` + "\t🔑"
	for name, tc := range map[string]struct{ secrets, text, want string }{
		"alone":                   {"hunter2", "hunter2", "[redacted]"},
		"twice":                   {"hunter2", "hunter2hunter2 hunter", "[redacted][redacted] hunter"},
		"white space around it":   {"  hunter2\n", "a hunter2\n", "a [redacted]\n"},
		"not another":             {"hunter2", "hunter3 Hunter2", "hunter3 Hunter2"},
		"after a false beginning": {"aabaac", "aabaabaac", "aab[redacted]"},
		"the longer one":          {"hunter2 hunter2long", "hunter2long", "[redacted]"},
		"inside another": {"hunter2 in-hunter2-long", "in-hunter2-lon in-hunter2-long",
			"in-[redacted]-lon [redacted]"},
		"overlapping":        {"abcdef defghi", "abcdefghi abcdef", "[redacted] [redacted]"},
		"overlapping itself": {"aaaaaa", "baaaaaaaaaab", "b[redacted]b"},
		"a chain":            {"abcdef efabcd", "abcdefabcdefabcdxefabcd", "[redacted]x[redacted]"},
		"as JSON":            {odd, quoted(odd), `"[redacted]"`},
		"as JSON of others": {odd, `"a\"b\\c<d>\/\u00e9\t\ud83d\udd11"`,
			`"a\"b\\c<d>\/\u00e9\t\ud83d\udd11"`},
		"as ASCII JSON":               {odd, `"a\"b\\c<d>/\u00e9\t\ud83d\udd11"`, `"[redacted]"`},
		"as ASCII JSON in upper case": {odd, `"a\"b\\c<d>/\u00E9\t\uD83D\uDD11"`, `"[redacted]"`},
		"with slashes escaped":        {"abc/def", `"abc\/def"`, `"[redacted]"`},
		"as JSON in JSON":             {odd, quoted(quoted(odd)), `"\"[redacted]\""`},
		"a key":                       {key, "1 " + key + " 2", "1 [redacted]\n 2"},
		"a key in JSON":               {key, quoted(key), `"[redacted]\n"`},
		"in base64": {"hunter2", base64.StdEncoding.EncodeToString([]byte("hunter2")),
			"[redacted]g=="},
		"in base64 of a text": {"hunter2", base64.StdEncoding.EncodeToString([]byte("x:hunter2!")),
			"eDp[redacted]IQ=="},
		"in base64 of a basic login": {"hunter2", base64.StdEncoding.EncodeToString([]byte("joe:hunter2")),
			"am9lOm[redacted]I="},
		"in base64 for URLs": {"a?>b~~c", base64.URLEncoding.EncodeToString([]byte("a?>b~~c")),
			"[redacted]w=="},
		"in hexadecimal":  {"hunter2", "x'68756e74657232' 68756E74657232", "x'[redacted]' [redacted]"},
		"in a URL":        {"p&ss+w/rd", "?a=p%26ss%2Bw%2Frd&b=p&ss+w%2Frd", "?a=[redacted]&b=[redacted]"},
		"a line of a key": {key, "x AASCBKcwggSjAgEAAoIBAQC7 Vb==", "x [redacted] Vb=="},
		"a key with other breaks": {key, strings.ReplaceAll(key, "\n", "\r\n"),
			"[redacted]\r\n[redacted]\r\n[redacted]\r\nVb==\r\n[redacted]\r\n"},
		"a key with written breaks": {strings.ReplaceAll(key, "\n", `\n`), key,
			"[redacted]\n[redacted]\n[redacted]\nVb==\n[redacted]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			secrets := []string{tc.secrets}
			if !strings.ContainsAny(tc.secrets, "\"\n\\") && tc.secrets[0] != ' ' {
				secrets = strings.Fields(tc.secrets)
			}
			r := of(t, secrets...)
			require.Equal(t, tc.want, r.String(tc.text))
			require.Equal(t, tc.want, string(r.Bytes([]byte(tc.text))))
			read, err := io.ReadAll(iotest.OneByteReader(r.Reader(iotest.OneByteReader(strings.NewReader(tc.text)))))
			require.NoError(t, err)
			require.Equal(t, tc.want, string(read))
		})
	}
}

// A value whose redaction would destroy the text is refused; the error does not contain it.
func TestShortValuesAreRefused(t *testing.T) {
	_, err := redact.New("hunter2", "12345", "redacted")
	require.ErrorIs(t, err, redact.ErrTooShort)
	require.ErrorIs(t, err, redact.ErrMask)
	require.ErrorContains(t, err, "value 2")
	require.NotContains(t, err.Error(), "12345")
	require.NoError(t, redact.Check("123456"))
	require.NoError(t, redact.Check(" \n"))
}

// A Redactor without secrets changes nothing.
func TestTextWithoutSecretsIsUnchanged(t *testing.T) {
	r := of(t, "", " \n")
	require.Nil(t, r)
	require.Equal(t, "text", r.String("text"))
	require.Equal(t, "text", string(r.Bytes([]byte("text"))))
	v, found := r.Value("text")
	require.Equal(t, "text", v)
	require.False(t, found)
	body, err := io.ReadAll(r.Reader(strings.NewReader("text")))
	require.NoError(t, err)
	require.Equal(t, "text", string(body))
	var out bytes.Buffer
	w := r.Writer(&out)
	_, err = w.Write([]byte("text"))
	require.NoError(t, err)
	w.Drop()
	require.NoError(t, w.Close())
	require.Equal(t, "text", out.String())
}

// A line's end is visible at once; only a possible beginning of a secret is held back.
func TestStreamHoldsBackOnlyThePossibleBeginningOfASecret(t *testing.T) {
	var out bytes.Buffer
	w := of(t, "hunter2", key).Writer(&out)
	for _, step := range []struct{ write, seen string }{
		{"a line\n", "a line\n"}, {"hunt", ""}, {"ers\n", "hunters\n"}, {"x h", "x "}, {"unter", ""}, {"2", ""},
		{"\n", "[redacted]\n"},
		{"hunter2hunter2", "[redacted]"}, {"!", "[redacted]!"}, {"-----BEGIN ", ""},
		{"CERTIFICATE", "-----BEGIN CERTIFICATE"},
	} {
		out.Reset()
		n, err := w.Write([]byte(step.write))
		require.NoError(t, err)
		require.Equal(t, len(step.write), n)
		require.Equal(t, step.seen, out.String(), "after %q", step.write)
	}
	out.Reset()
	_, err := w.Write([]byte("hunte"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Equal(t, "hunte", out.String(), "it was none")
	_, err = w.Write([]byte("r2."))
	require.NoError(t, err)
	require.Equal(t, "hunter2.", out.String(), "another stream")

	out.Reset()
	_, err = w.Write([]byte("x hunte"))
	require.NoError(t, err)
	w.Drop()
	require.NoError(t, w.Close())
	require.Equal(t, "x ", out.String(), "a text was cut")
}

// Skipped text is not read; a secret that began there is still found.
func TestPassSkipsAndStillFindsASecretAfterwards(t *testing.T) {
	in, out := io.Pipe()
	r := of(t, "hunter2").Reader(in)
	read := func(write string) string {
		t.Helper()
		go func() { _, _ = out.Write([]byte(write)) }() // the reader takes all of it
		buf := make([]byte, 100)
		n, err := r.Read(buf)
		require.NoError(t, err)
		return string(buf[:n])
	}
	require.Equal(t, "one ", read("one hun"))
	r.Pass([]byte("gry hunt"))
	require.Equal(t, "[redacted] is", read("er2 is"))
	r.Pass([]byte("x hunt"))
	require.Equal(t, "ress three", read("ress three"))
}

// An error of the source follows the text read before it, and stays.
func TestReaderReturnsTheErrorOfItsSource(t *testing.T) {
	broken := errors.New("broken")
	r := of(t, "hunter2").Reader(io.MultiReader(strings.NewReader("a hunter2 b hunt"), iotest.ErrReader(broken)))
	body, err := io.ReadAll(r)
	require.ErrorIs(t, err, broken)
	require.Equal(t, "a [redacted] b hunt", string(body))
	_, err = r.Read(make([]byte, 1))
	require.ErrorIs(t, err, broken)

	w := of(t, "hunter2").Writer(failing{broken})
	n, err := w.Write([]byte("hunter2 text"))
	require.ErrorIs(t, err, broken)
	require.Zero(t, n)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// Decoded JSON keeps its shape.
func TestValueKeepsTheShapeOfJSON(t *testing.T) {
	d := json.NewDecoder(strings.NewReader(`{"a":["x \u0068unter2",1234567,12345678,true,null],"hunter2":{"b":"c"}}`))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v))
	v, found := of(t, "hunter2", "1234567").Value(v)
	require.True(t, found)
	body, err := json.Marshal(v)
	require.NoError(t, err)
	require.JSONEq(t, `{"a":["x [redacted]","[redacted]","[redacted]8",true,null],"[redacted]":{"b":"c"}}`,
		string(body))
}
