package cli

import (
	"path/filepath"
	"slices"
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
// over the same inputs, with the flags of this call that the other verb knows too and
// that decide what is looked at, who rules, and by what evidence. Without them the next
// command would give another answer than this one.
func againOf(cmd *cobra.Command, args []string) func(verb string, extra ...string) string {
	return func(verb string, extra ...string) string {
		words := []string{"kafsck"}
		if verb != "" {
			words = append(words, verb)
		}
		words = append(words, extra...)
		words = append(words, carried(cmd, verbOf(cmd.Root(), words[1:]), extra)...)
		for _, a := range args {
			words = append(words, notFlag(a))
		}
		return report.Command(words...)
	}
}

// verbOf is the command that words name; root where they name none.
func verbOf(root *cobra.Command, words []string) *cobra.Command {
	verb := root
	for _, w := range words {
		i := slices.IndexFunc(verb.Commands(), func(c *cobra.Command) bool { return c.Name() == w })
		if i < 0 {
			break
		}
		verb = verb.Commands()[i]
	}
	return verb
}

// carriedValues are the flags with one value that another verb needs for the same answer.
var carriedValues = []string{"min-isr", "server-properties", "acks", "server-log-zone", "kafka", "prefer"}

// carried are the flags of a call that a verb must have again. Partitions that extra words
// name take the place of those of the call.
func carried(cmd, verb *cobra.Command, extra []string) []string {
	var flags []string
	named := slices.Contains(extra, "--partition")
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if verb.Flags().Lookup(f.Name) == nil {
			return
		}
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
			if named || f.Name != "topic" && f.Name != "partition" {
				return
			}
			for _, g := range *v {
				flags = append(flags, "--"+f.Name, g)
			}
		}
	})
	for _, name := range carriedValues {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed && verb.Flags().Lookup(name) != nil && !slices.Contains(extra, "--"+name) {
			flags = append(flags, "--"+name, f.Value.String())
		}
	}
	if f := cmd.Flags().Lookup("acks-complete"); f != nil && f.Changed && verb.Flags().Lookup(f.Name) != nil {
		flags = append(flags, "--acks-complete")
	}
	if f := cmd.Flags().Lookup("server-log"); f != nil && verb.Flags().Lookup(f.Name) != nil {
		if logs, ok := f.Value.(*serverLogFlag); ok {
			for _, l := range *logs {
				word := l.path
				if l.broker >= 0 {
					word = itoa(l.broker) + "=" + l.path
				}
				flags = append(flags, "--server-log", word)
			}
		}
	}
	return flags
}
