package cli

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kafsck/logdir"
	"kafsck/report"
)

// locate returns the function that gives a shown path the way the user would
// type it: shown paths are relative to a PATH, and begin with its base name when
// there are several.
func locate(c *logdir.Case) func(string) string {
	type place struct{ shown, host string }
	var places []place
	for _, b := range c.Brokers {
		for _, d := range b.Dirs {
			places = append(places, place{d.Path, d.HostPath})
			if d.Metadata != nil {
				places = append(places, place{d.Metadata.Dir, d.Metadata.HostPath})
			}
		}
	}
	for p := range c.AllPartitions() {
		places = append(places, place{p.Dir, p.HostPath})
	}
	dirs, onDisk := map[string]string{}, 0
	for _, p := range places {
		dirs[p.shown] = p.host
		if p.host != "" {
			onDisk++
		}
	}
	type input struct{ typed, host string }
	var inputs []input
	for _, typed := range c.Inputs {
		host, err := filepath.Abs(typed)
		if err == nil {
			host, err = filepath.EvalSymlinks(host)
		}
		if err == nil {
			inputs = append(inputs, input{typed, host})
		}
	}
	typed := func(host string) (string, bool) {
		for _, in := range inputs {
			if rest, err := filepath.Rel(in.host, host); err == nil && rest != ".." && !strings.HasPrefix(rest, ".."+string(filepath.Separator)) {
				return notFlag(filepath.Join(in.typed, rest)), true
			}
		}
		return "", false
	}
	return func(shown string) string {
		dir, name := shown, ""
		for {
			if host := dirs[dir]; host != "" {
				if s, ok := typed(filepath.Join(host, filepath.FromSlash(name))); ok {
					return s
				}
			}
			i := strings.LastIndexByte(dir, '/')
			if i < 0 {
				break
			}
			dir, name = dir[:i], shown[i+1:]
		}
		if host := dirs["."]; host != "" {
			if s, ok := typed(filepath.Join(host, filepath.FromSlash(shown))); ok {
				return s
			}
		}
		if len(dirs) > 0 && onDisk == 0 && len(c.Inputs) == 1 {
			return notFlag(filepath.Join(c.Inputs[0], filepath.FromSlash(shown))) // an embedded tree
		}
		return shown
	}
}

// notFlag keeps a path from being read as a flag.
func notFlag(path string) string {
	if strings.HasPrefix(path, "-") {
		return "." + string(filepath.Separator) + path
	}
	return path
}

// againOf returns the function that writes the command line of another verb
// over the same inputs, with the flags that decide what is looked at and who
// rules.
func againOf(cmd *cobra.Command, args []string) func(verb string, extra ...string) string {
	var flags []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch v := f.Value.(type) {
		case *brokerFlag:
			for _, b := range *v {
				flags = append(flags, "--broker", itoa(b.ID)+"="+b.Path)
			}
		case *leaderFlag:
			for name, id := range sorted(*v) {
				flags = append(flags, "--leader", name+"="+itoa(id))
			}
		case *globFlag:
			for _, g := range *v {
				flags = append(flags, "--"+f.Name, g)
			}
		}
	})
	grades := []string{}
	for _, name := range []string{"min-isr", "server-properties", "acks"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			grades = append(grades, "--"+name, f.Value.String())
		}
	}
	if f := cmd.Flags().Lookup("acks-complete"); f != nil && f.Changed {
		grades = append(grades, "--acks-complete")
	}
	return func(verb string, extra ...string) string {
		words := []string{"kafsck"}
		if verb != "" {
			words = append(words, verb)
		}
		words = append(append(words, extra...), flags...)
		if verb == "loss" || verb == "" {
			words = append(words, grades...)
		}
		for _, a := range args {
			words = append(words, notFlag(a))
		}
		return report.Command(words...)
	}
}
