package command

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/lifecycle"
)

func Line(err error) string { return "interlude: " + terminal.Line(Words(err)) }

var packages = regexp.MustCompile(`(^|[ (])((lifecycle|store|sqlite|postgres|interaction|schema|invalid reply): )+`)

// Words is an error in the terms of the command line: an argument is called by its flag's name, and
// package names are removed.
func Words(err error) string {
	text := err.Error()
	var argument *lifecycle.ArgumentError
	var field *lifecycle.FieldError
	switch {
	case errors.As(err, &argument):
		text = strings.ReplaceAll(text, argument.Argument+" is ", flagOf(argument.Argument)+" is ")
	case errors.As(err, &field):
		text = fmt.Sprintf("%s is %s, want %s", flagOf("reply."+field.Field), field.Value, field.Want)
	}
	return packages.ReplaceAllString(text, "$1")
}

// flags maps arguments to flags with a different name.
var flags = map[string]string{
	"id": "RUN", "query.States": "-state", "query.Kinds": "-kind", "query.Labels": "-label", "query.For": "-as",
	"query.ForkedFrom": "-forked-from", "reply.ID": "-question", "reply.Actor": "-as", "at.Actor": "-as",
	"reply.Text": "the text", "reply.Value": "the value", "reply.Decision": "the decision",
	"reply.AcceptRisk": "-accept-risk", "reply.Remember": "-remember", "reply.Remember.Equal": "-same",
	"reply.Remember.Most": "-most", "reply.Remember.Any": "-any", "resume.Budget": "-turns and -tokens",
	"at.Answer": "the answer",
}

// flagOf is the flag for an argument of a call: -pool for query.Pool.
func flagOf(argument string) string {
	if name, found := flags[argument]; found {
		return name
	}
	for _, call := range []string{"query.", "reply.", "at.", "resume."} {
		if field, found := strings.CutPrefix(argument, call); found {
			return "-" + strings.ToLower(field)
		}
	}
	return strings.TrimPrefix(argument, "spec.")
}

func Quote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
