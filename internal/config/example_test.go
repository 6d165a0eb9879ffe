package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/planmode-dev/planmode/internal/config"
)

// example makes a folder with a user's and a project's file.
func example(user, project string) (o config.LoadOptions, remove func()) {
	dir, err := os.MkdirTemp("", "config")
	if err != nil {
		panic(err)
	}
	o = config.LoadOptions{
		Dirs: config.Dirs{Config: filepath.Join(dir, "config")}, Home: "/home/ann",
		Project: filepath.Join(dir, "project"), Trusted: true,
	}
	for path, text := range map[string]string{o.Dirs.UserFile(): user, filepath.Join(o.Project, config.ProjectFile): project} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			panic(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			panic(err)
		}
	}
	return o, func() { _ = os.RemoveAll(dir) }
}

func ExampleLoad() {
	o, remove := example(
		`{"model": "anthropic/claude-sonnet-5", "autonomy": "hybrid"}`,
		`{"autonomy": "strict", "permissions": {"deny": ["bash(git push *)"]}, "sandbox": "off"}`)
	defer remove()
	c, diags := config.Load(o)
	fmt.Println(c.Model, c.Autonomy, c.Permissions.Deny)
	for _, d := range diags {
		fmt.Println(d.Field+":", d.Reason)
	}
	// Output:
	// anthropic/claude-sonnet-5 strict [bash(git push *)]
	// sandbox: a project may not loosen the user's settings; this field may be stricter: require, prefer, off
}

func ExampleConfig_Settings() {
	o, remove := example(`{"autonomy": "loose"}`, "{\n  \"plan\": {\"default\": true}\n}")
	defer remove()
	c, _ := config.Load(o)
	for _, s := range c.Settings() {
		if s.Field == "autonomy" || s.Field == "plan.default" || s.Field == "sandbox" {
			fmt.Println(s.Field, string(s.Value), s.Sources[0].Kind, s.Sources[0].Line)
		}
	}
	// Output:
	// autonomy "loose" user 1
	// plan.default true project 2
	// sandbox "prefer" default 0
}

func ExampleCheck() {
	text := "{\n  // mine\n  \"autonomy\": \"hybird\"\n}"
	for _, d := range config.Check("config.json", []byte(text), "/home/ann", "") {
		fmt.Println(d)
	}
	text = strings.ReplaceAll(text, "  // mine\n", "")
	for _, d := range config.Check("config.json", []byte(text), "/home/ann", "") {
		fmt.Println(d)
	}
	// Output:
	// error: config.json:2:3: JSON has no comments; take them out
	// error: config.json:2:15: autonomy: "hybird" is none of strict, hybrid, loose; did you mean hybrid?
}

func ExampleSchema() {
	for line := range strings.Lines(string(config.Schema())) {
		if strings.Contains(line, `"title"`) || strings.Contains(line, `"$schema": "h`) {
			fmt.Println(strings.TrimSpace(line))
		}
	}
	// Output:
	// "$schema": "https://json-schema.org/draft/2020-12/schema",
	// "title": "planmode configuration",
}

func ExampleFields() {
	for _, f := range config.Fields()[:5] {
		fmt.Printf("%s: %s\n", f.Name, f.Project)
	}
	// Output:
	// model: the user's alone: it decides what is paid for
	// review_model: the user's alone: it decides what is paid for
	// thinking: the user's alone: it decides what is paid for
	// autonomy: may be stricter: strict, hybrid, loose
	// plan.default: may be true
}

func ExampleFindDirs() {
	env := map[string]string{"XDG_CONFIG_HOME": "relative"}
	dirs, diags, err := config.FindDirs(func(name string) string { return env[name] }, "/home/ann")
	fmt.Println(dirs.UserFile(), dirs.State, err)
	fmt.Println(diags[0])
	// Output:
	// /home/ann/.config/planmode/config.json /home/ann/.local/state/planmode <nil>
	// notice: XDG_CONFIG_HOME: "relative" is not an absolute path; it is ignored
}

func ExampleDirs_Trust() {
	dir, err := os.MkdirTemp("", "config")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	dirs := config.Dirs{State: filepath.Join(dir, "state")}
	fmt.Println(dirs.Trusted(dir))
	fmt.Println(dirs.Trust(dir), dirs.Trusted(dir))
	fmt.Println(dirs.Distrust(dir), dirs.Trusted(dir))
	// Output:
	// false
	// <nil> true
	// <nil> false
}
