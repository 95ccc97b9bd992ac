package cli

import (
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kafsck/checkpoint"
	"kafsck/commitment"
	"kafsck/finding"
	"kafsck/incident"
	"kafsck/logdir"
)

// brokerFlag is --broker ID=PATH, repeatable.
type brokerFlag []logdir.BrokerID

func (f *brokerFlag) String() string { return "" }
func (f *brokerFlag) Type() string   { return "ID=PATH" }

func (f *brokerFlag) Set(s string) error {
	id, p, ok := strings.Cut(s, "=")
	n, err := strconv.ParseInt(id, 10, 32)
	if !ok || err != nil || n < 0 || p == "" {
		return fmt.Errorf("want ID=PATH, such as 1=copies/host-a")
	}
	*f = append(*f, logdir.BrokerID{Path: p, ID: int32(n)})
	return nil
}

// leaderFlag is --leader TOPIC-PARTITION=ID, repeatable.
type leaderFlag map[string]int32

func (f *leaderFlag) String() string { return "" }
func (f *leaderFlag) Type() string   { return "PARTITION=ID" }

func (f *leaderFlag) Set(s string) error {
	i := strings.LastIndexByte(s, '=')
	if i < 0 {
		return fmt.Errorf("want PARTITION=ID, such as orders-0=2")
	}
	id, err := strconv.ParseInt(s[i+1:], 10, 32)
	name := s[:i]
	dash := strings.LastIndexByte(name, '-')
	if err != nil || id < 0 || dash <= 0 {
		return fmt.Errorf("want PARTITION=ID, such as orders-0=2")
	}
	if number, err := strconv.ParseInt(name[dash+1:], 10, 32); err != nil || number < 0 {
		return fmt.Errorf("want PARTITION=ID, such as orders-0=2")
	}
	if *f == nil {
		*f = leaderFlag{}
	}
	(*f)[name] = int32(id)
	return nil
}

// globFlag is a repeatable shell pattern.
type globFlag []string

func (f *globFlag) String() string { return strings.Join(*f, ",") }
func (f *globFlag) Type() string   { return "GLOB" }

func (f *globFlag) Set(s string) error {
	if _, err := path.Match(s, ""); err != nil {
		return fmt.Errorf("not a pattern: %w", err)
	}
	*f = append(*f, s)
	return nil
}

func (f globFlag) match(names ...string) bool {
	for _, pattern := range f {
		for _, name := range names {
			// A name may hold a slash only by damage; then it matches nothing but itself.
			if ok, _ := path.Match(pattern, name); ok || pattern == name {
				return true
			}
		}
	}
	return len(f) == 0
}

// severityFlag is --fail-on.
type severityFlag finding.Severity

func (f *severityFlag) String() string { return finding.Severity(*f).String() }
func (f *severityFlag) Type() string   { return "SEVERITY" }

func (f *severityFlag) Set(s string) error {
	v, ok := finding.ParseSeverity(s)
	if !ok {
		return fmt.Errorf("want note, warning, damage or loss")
	}
	*f = severityFlag(v)
	return nil
}

// inputOptions say which inputs are looked at.
type inputOptions struct {
	brokers    brokerFlag
	topics     globFlag
	partitions globFlag
}

func (o *inputOptions) addFlags(f *pflag.FlagSet) {
	f.Var(&o.brokers, "broker", "broker id of a directory without meta.properties (repeatable)")
	f.Var(&o.topics, "topic", "only topics that match, such as 'orders*' (repeatable)")
	f.Var(&o.partitions, "partition", "only partitions that match by number or name, such as 3 or 'orders-*' (repeatable)")
}

func (o *inputOptions) selects(topic string, partition int32) bool {
	number := strconv.Itoa(int(partition))
	return o.topics.match(topic) && o.partitions.match(number, topic+"-"+number)
}

// judgeOptions steer the judgement.
type judgeOptions struct {
	leaders          leaderFlag
	minISR           int
	serverProperties string
	acks             string
	acksComplete     bool
	serverLogs       serverLogFlag
	serverLogZone    string
	all              bool
	failOn           severityFlag
}

func (o *judgeOptions) addFlags(f *pflag.FlagSet) {
	f.Var(&o.leaders, "leader", "take this broker as the leader, whatever the metadata say, such as orders-0=2 (repeatable)")
}

func (o *judgeOptions) addGradeFlags(f *pflag.FlagSet) {
	f.IntVar(&o.minISR, "min-isr", 0, "the brokers' static min.insync.replicas is `N` (it is not in the metadata)")
	f.StringVar(&o.serverProperties, "server-properties", "", "read the brokers' min.insync.replicas from this `FILE`")
	f.StringVar(&o.acks, "acks", "", "acknowledged records are in this `FILE` (JSON Lines, see docs/json.md)")
	f.BoolVar(&o.acksComplete, "acks-complete", false, "nothing is missing from the --acks file: what it does not list was not acknowledged")
	o.addServerLogFlags(f)
}

func (o *judgeOptions) addServerLogFlags(f *pflag.FlagSet) {
	f.Var(&o.serverLogs, "server-log", "a broker's own text log, as it is or gzipped, such as logs/broker-1.log; ID=FILE where its lines do not name the broker (repeatable)")
	f.StringVar(&o.serverLogZone, "server-log-zone", "UTC", "time `ZONE` of --server-log lines that name none, such as +02:00 or Europe/Berlin")
}

func (o *judgeOptions) addAllFlag(f *pflag.FlagSet) {
	f.BoolVar(&o.all, "all", false, "also the differences that cleaning at different times explains")
}

func (o *judgeOptions) addFailOnFlag(f *pflag.FlagSet) {
	o.failOn = severityFlag(finding.Warning)
	f.Var(&o.failOn, "fail-on", "lowest severity that sets exit bit 1: note, warning, damage or loss")
}

// options reads the files that the flags name. A file that the user named and
// that cannot be used is bad usage: the answer would not be the one asked for.
func (o *judgeOptions) options(cmd *cobra.Command) (incident.Options, error) {
	opt := incident.Options{Leaders: o.leaders, All: o.all}
	if cmd.Flags().Changed("min-isr") {
		if o.minISR < 1 {
			return opt, usagef("--min-isr %d: want a number above 0", o.minISR)
		}
		opt.MinISR, opt.MinISRSource = o.minISR, "--min-isr"
	}
	if o.serverProperties != "" {
		if opt.MinISR > 0 {
			return opt, usagef("--min-isr and --server-properties say the same; give one of them")
		}
		if err := readServerProperties(o.serverProperties, &opt); err != nil {
			return opt, err
		}
	}
	if o.acksComplete && o.acks == "" {
		return opt, usagef("--acks-complete needs --acks FILE")
	}
	if o.acks != "" {
		f, err := os.Open(o.acks)
		if err != nil {
			return opt, usagef("--acks: %v", err)
		}
		defer f.Close()
		if opt.Acks, err = commitment.ReadAcks(f, o.acks, o.acksComplete); err != nil {
			return opt, usagef("--acks: %v", err).hint("the format is described in docs/json.md")
		}
	}
	var err error
	opt.ServerLogs, err = o.readServerLogs(cmd)
	return opt, err
}

// maxProperties bounds a server.properties: they are a few kilobytes.
const maxProperties = 1 << 20

func readServerProperties(name string, opt *incident.Options) error {
	info, err := os.Stat(name)
	if err == nil && info.Size() > maxProperties {
		err = fmt.Errorf("%s: larger than any properties file", name)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(name)
	}
	if err != nil {
		return usagef("--server-properties: %v", err)
	}
	value, ok := checkpoint.ParseMetaProperties(data).Properties["min.insync.replicas"]
	if !ok {
		opt.MinISR, opt.MinISRSource = 1, name+" (not set there: Kafka's default)"
		return nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(value))
	if err != nil || n < 1 {
		return usagef("--server-properties: %s: min.insync.replicas=%s is no number above 0", name, value)
	}
	opt.MinISR, opt.MinISRSource = n, name
	return nil
}
