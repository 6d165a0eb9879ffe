package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/planmode-dev/planmode/llm"
	"github.com/planmode-dev/planmode/llm/catalog"
)

func newModels(io streams) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "models [PROVIDER]",
		Short: "List providers, or a provider's models with their limits and prices",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := findPlace("")
			if err != nil {
				return err
			}
			p.complain(io.err)
			cat, err := p.catalog()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return listProviders(io, cat, asJSON)
			}
			prov, ok := cat.Provider(args[0])
			if !ok {
				return usagef("there is no provider %q; planmode models lists them", args[0])
			}
			return listModels(io, cat, prov, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return c
}

type providerRow struct {
	ID     string `json:"provider"`
	Name   string `json:"name"`
	KeyEnv string `json:"key_env,omitempty"`
	Ready  bool   `json:"ready"` // nothing more is needed to use it
	Why    string `json:"why,omitempty"`
	Models int    `json:"models"`
}

func listProviders(io streams, cat *catalog.Catalog, asJSON bool) error {
	count := map[string]int{}
	for _, m := range cat.Models() {
		count[m.Provider]++
	}
	w := tabwriter.NewWriter(io.out, 0, 8, 2, ' ', 0)
	enc := json.NewEncoder(io.out)
	for _, p := range cat.Providers() {
		row := providerRow{ID: p.ID, Name: p.Name, KeyEnv: p.KeyEnv, Models: count[p.ID], Ready: true}
		switch err := p.Usable(); {
		case err != nil:
			row.Ready, row.Why = false, err.Error()
		case p.KeyEnv != "" && os.Getenv(p.KeyEnv) == "":
			row.Ready, row.Why = false, "set "+p.KeyEnv
		}
		if err := writeRow(enc, asJSON, row, func() error {
			state := "ready"
			if !row.Ready {
				state = oneLine(row.Why)
			}
			_, err := fmt.Fprintf(w, "%s\t%d models\t%s\n", row.ID, row.Models, state)
			return err
		}); err != nil {
			return err
		}
	}
	return w.Flush()
}

type modelRow struct {
	Model         string              `json:"model"`
	Name          string              `json:"name,omitempty"`
	ContextWindow int64               `json:"context_window"`
	MaxOutput     int64               `json:"max_output"`
	Input         float64             `json:"price_input"`
	Output        float64             `json:"price_output"`
	Images        bool                `json:"images"`
	Levels        []llm.ThinkingLevel `json:"thinking,omitempty"`
}

func listModels(io streams, cat *catalog.Catalog, prov catalog.Provider, asJSON bool) error {
	w := tabwriter.NewWriter(io.out, 0, 8, 2, ' ', 0)
	enc := json.NewEncoder(io.out)
	for _, m := range cat.Models() {
		if m.Provider != prov.ID {
			continue
		}
		row := modelRow{m.String(), m.Name, m.ContextWindow, m.MaxOutput, m.Price.Input, m.Price.Output, m.Images, m.Levels}
		if err := writeRow(enc, asJSON, row, func() error {
			var can []string
			if m.Images {
				can = append(can, "images")
			}
			if len(m.Levels) > 0 {
				can = append(can, "thinking")
			}
			_, err := fmt.Fprintf(w, "%s\t%dk context\t$%.2f in\t$%.2f out\t%s\n",
				row.Model, m.ContextWindow/1000, m.Price.Input, m.Price.Output, strings.Join(can, ", "))
			return err
		}); err != nil {
			return err
		}
	}
	return w.Flush()
}

func writeRow(enc *json.Encoder, asJSON bool, row any, text func() error) error {
	if asJSON {
		return enc.Encode(row)
	}
	return text()
}
