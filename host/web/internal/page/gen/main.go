// Command gen writes assets/characters.js from the table of package interaction.
package main

import (
	"fmt"
	"os"
	"strings"
	"unicode"

	"github.com/interlude-go/interlude/interaction"
)

func main() {
	if err := os.WriteFile("assets/characters.js", []byte(script()), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// script returns a module with a regular expression for each kind of character.
func script() string {
	var b strings.Builder
	fmt.Fprintf(&b, "// Code generated from package interaction (Unicode %s) by go generate; DO NOT EDIT.\n",
		unicode.Version)
	for _, kind := range []struct {
		name string
		of   interaction.Character
	}{
		{"hidden", interaction.Hidden}, {"singleSpace", interaction.SingleSpace}, {"emoji", interaction.Emoji},
		{"virama", interaction.Virama}, {"joinsNext", interaction.JoinsNext},
		{"joinsPrevious", interaction.JoinsPrevious}, {"vowel", interaction.Vowel},
	} {
		fmt.Fprintf(&b, "\nexport const %s = new RegExp(\"[\"", kind.name)
		for _, line := range lines(ranges(kind.of)) {
			fmt.Fprintf(&b, "\n  + %q", line)
		}
		b.WriteString("\n  + \"]\", \"u\");\n")
	}
	return b.String()
}

func ranges(kind interaction.Character) []string {
	var all []string
	for r := rune(0); r <= unicode.MaxRune; r++ {
		first := r
		for r <= unicode.MaxRune && interaction.CharacterOf(r)&kind != 0 {
			r++
		}
		switch last := r - 1; {
		case last == first:
			all = append(all, fmt.Sprintf(`\u{%x}`, first))
		case last > first:
			all = append(all, fmt.Sprintf(`\u{%x}-\u{%x}`, first, last))
		}
	}
	return all
}

func lines(parts []string) []string {
	var all []string
	line := ""
	for _, part := range parts {
		if len(line)+len(part) > 90 {
			all, line = append(all, line), ""
		}
		line += part
	}
	return append(all, line)
}
