package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/scripted"
)

// models returns the function that opens the model of a name such as "anthropic/claude-sonnet-4-5". The
// name "scripted/FILE" is a model that plays a file.
func (p *place) models() func(name string) (llm.Provider, llm.Model, error) {
	return func(name string) (llm.Provider, llm.Model, error) {
		if name == "" {
			return nil, llm.Model{}, &llm.Error{Kind: llm.ErrConfig, Provider: "none", Err: fmt.Errorf(
				"no model is chosen: give --model provider/model, set PLANMODE_MODEL, or put \"model\" into %s; planmode models lists them", p.dirs.UserFile())}
		}
		provider, id, err := llm.SplitName(name)
		if err != nil {
			return nil, llm.Model{}, &llm.Error{Kind: llm.ErrConfig, Provider: name, Err: err}
		}
		if provider == scripted.Name {
			return p.scriptedModel(id)
		}
		return p.vendorModel(name)
	}
}

func (p *place) scriptedModel(file string) (llm.Provider, llm.Model, error) {
	path := file
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.workspace, path)
	}
	script, err := scripted.Load(os.DirFS(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		return nil, llm.Model{}, &llm.Error{Kind: llm.ErrConfig, Provider: scripted.Name, Err: err}
	}
	m := scripted.Model()
	m.ID = file
	return scripted.New(script), m, nil
}
