package web

import (
	"context"
	"encoding/json"

	"github.com/interlude-go/interlude/host/render"
)

// Texts are sources in Markdown.
type Texts struct {
	Texts []string `json:"texts" minItems:"1" maxItems:"32" nullable:"false"`
}

// Documents are the texts as lists of elements of package render, in order.
type Documents struct {
	Documents []json.RawMessage `json:"documents" nullable:"false" doc:"For each text its elements: kind, text, class, address, number, children."`
}

type renderInput struct{ Body Texts }

// Pairs are pairs of texts to compare.
type Pairs struct {
	Pairs []Pair `json:"pairs" minItems:"1" maxItems:"32" nullable:"false"`
}

// Pair is a text before and after a change.
type Pair struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// Diffs are the lines of package render that turn the first text of each pair into the second.
type Diffs struct {
	Diffs []json.RawMessage `json:"diffs" nullable:"false" doc:"For each pair its lines: change, before, after, parts."`
}

type diffInput struct{ Body Pairs }

// diff compares texts for a page that draws the differences. It reads and stores nothing.
func (d *Server) diff(ctx context.Context, _ *caller, in *diffInput) (*body[Diffs], error) {
	out := Diffs{Diffs: make([]json.RawMessage, 0, len(in.Body.Pairs))}
	for _, p := range in.Body.Pairs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		lines, err := json.Marshal(append([]render.Line{}, render.Diff(p.Before, p.After)...))
		if err != nil {
			return nil, err
		}
		out.Diffs = append(out.Diffs, lines)
	}
	return &body[Diffs]{out}, nil
}

// render parses texts of agents and people for a page that draws them. It reads and stores nothing.
func (d *Server) render(ctx context.Context, _ *caller, in *renderInput) (*body[Documents], error) {
	out := Documents{Documents: make([]json.RawMessage, 0, len(in.Body.Texts))}
	for _, source := range in.Body.Texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		document, err := json.Marshal(append([]render.Element{}, render.Markdown(source)...))
		if err != nil {
			return nil, err
		}
		out.Documents = append(out.Documents, document)
	}
	return &body[Documents]{out}, nil
}
