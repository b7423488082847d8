module github.com/interlude-go/interlude/engine/acp

go 1.25.0

require (
	github.com/coder/acp-go-sdk v0.13.5
	github.com/interlude-go/interlude v0.1.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/qmuntal/stateless v1.7.2 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
)

replace github.com/interlude-go/interlude => ../..
