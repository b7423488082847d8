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
