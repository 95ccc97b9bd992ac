package apply

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kafsck/broker"
	"kafsck/incident"
	"kafsck/internal/fixture"
	"kafsck/logdir"
	"kafsck/repair"
)

// salvagePlan makes the plan of a salvage as each run of it does: of the copies in a folder, or of a
// file, the batches of which are those of copies.
func salvagePlan(t *testing.T, scan bool, copies, file string) *repair.Plan {
	t.Helper()
	c, err := logdir.Discover([]string{copies}, logdir.Options{})
	must(t, err)
	defer c.Close()
	if !scan {
		p, err := repair.Salvage(t.Context(), incident.Open(c, incident.Options{}), repair.SalvageOptions{Kafsck: "test", Now: time.Now()})
		must(t, err)
		return p
	}
	f, err := os.Open(file)
	must(t, err)
	defer f.Close()
	info, err := f.Stat()
	must(t, err)
	found, err := repair.Carve(t.Context(), f, repair.CarveOptions{File: file, Size: info.Size(), Hash: true, Known: c})
	must(t, err)
	p, err := found.Plan(repair.CarvePlanOptions{Kafsck: "test", Kafka: broker.Latest, Now: time.Now()})
	must(t, err)
	return p
}

// TestKilledSalvageGoesOn kills a salvage with SIGKILL at several operations on the disk. Another run
// of it makes its plan anew, and that is the same plan: it refuses to begin beside what was left,
// goes on with it when asked, and gives what a run in one go gives.
func TestKilledSalvageGoesOn(t *testing.T) {
	if out := os.Getenv("KAFSCK_TEST_SALVAGE_OUT"); out != "" {
		var n int
		fmt.Sscan(os.Getenv("KAFSCK_TEST_KILLED_AFTER"), &n)
		p := salvagePlan(t, os.Getenv("KAFSCK_TEST_SCAN") != "", os.Getenv("KAFSCK_TEST_COPIES"), os.Getenv("KAFSCK_TEST_FILE"))
		_, err := Run(t.Context(), p, Options{Out: out, sys: &dying{system: disk{}, left: n, die: func() {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			time.Sleep(time.Hour)
		}}})
		must(t, err)
		return
	}
	self, err := os.Executable()
	must(t, err)
	copies := filepath.Join(fixture.Unpack(t, "unclean-election"), "stage-b")
	work := t.TempDir()
	image := filepath.Join(work, "disk.img")
	var content []byte
	for _, broker := range []string{"broker-1", "broker-2"} {
		b, err := os.ReadFile(filepath.Join(copies, broker, "unclean-demo-0", "00000000000000000000.log"))
		must(t, err)
		content = append(append(content, "no batch"...), b...)
	}
	must(t, os.WriteFile(image, content, 0o644))
	elsewhere := filepath.Join(work, "moved")
	must(t, os.Symlink(copies, elsewhere))

	for _, scan := range []bool{false, true} {
		name := map[bool]string{false: "copies", true: "scan"}[scan]
		t.Run(name, func(t *testing.T) {
			whole := filepath.Join(t.TempDir(), "OUT")
			d := &dying{system: disk{}, left: 1 << 30}
			plan := salvagePlan(t, scan, copies, image)
			_, err := Run(t.Context(), plan, Options{Out: whole, sys: d})
			must(t, err)
			want := resultOf(t, whole)
			if len(want) < 8 {
				t.Fatalf("%d files", len(want))
			}
			for _, at := range []int{1, d.n / 3, d.n * 2 / 3, d.n - 4} {
				dir := t.TempDir()
				out := filepath.Join(dir, "OUT")
				cmd := exec.Command(self, "-test.run=^TestKilledSalvageGoesOn$")
				cmd.Env = append(os.Environ(), "KAFSCK_TEST_SALVAGE_OUT="+out, "KAFSCK_TEST_COPIES="+copies, "KAFSCK_TEST_FILE="+image, "KAFSCK_TEST_SCAN="+map[bool]string{true: "yes"}[scan], fmt.Sprint("KAFSCK_TEST_KILLED_AFTER=", at))
				if b, err := cmd.CombinedOutput(); err == nil {
					t.Fatalf("it was not killed: %s", b)
				}
				left, err := os.ReadDir(dir)
				must(t, err)
				if len(left) != 1 || left[0].Name() != ".OUT.kafsck-"+plan.ID {
					t.Fatalf("killed after %d operations, left %v, want the folder of plan %s", at, left, plan.ID)
				}
				again := salvagePlan(t, scan, elsewhere, image)
				_, err = Run(t.Context(), again, Options{Out: out, sys: quick{}})
				if _, ok := errors.AsType[*Refused](err); !ok || !strings.Contains(err.Error(), "--resume goes on with it") {
					t.Fatalf("killed after %d operations, again: %v", at, err)
				}
				release, busy, err := holdFolder(filepath.Join(dir, left[0].Name()))
				if must(t, err); busy {
					t.Fatal("the lock outlived the process")
				}
				for _, resume := range []bool{false, true} {
					if _, err := Run(t.Context(), again, Options{Out: out, sys: quick{}, Resume: resume}); err == nil || !strings.Contains(err.Error(), "another kafsck is at work in") {
						t.Errorf("beside a run: %v", err)
					}
				}
				release()
				_, err = Run(t.Context(), again, Options{Out: out, sys: quick{}, Resume: true})
				must(t, err)
				sameTree(t, "resumed", resultOf(t, out), want)
				left, err = os.ReadDir(dir)
				must(t, err)
				if len(left) != 1 {
					t.Errorf("left behind: %v", left)
				}
			}
		})
	}
	// What a run of another plan left is no beginning of this one.
	dir := t.TempDir()
	stage := filepath.Join(dir, ".OUT.kafsck-0123456789abcdef")
	must(t, os.Mkdir(stage, 0o755))
	_, err = Run(t.Context(), salvagePlan(t, true, copies, image), Options{Out: filepath.Join(dir, "OUT"), sys: quick{}, Resume: true})
	if _, ok := errors.AsType[*Refused](err); !ok || !strings.Contains(err.Error(), stage+" is what a run of another plan left") {
		t.Error(err)
	}
	changed := filepath.Join(work, "changed.img")
	must(t, os.WriteFile(changed, append(content, 0), 0o644))
	if a, b := salvagePlan(t, true, copies, image), salvagePlan(t, true, copies, changed); a.ID == b.ID {
		t.Error("plans of two files have one ID")
	}
}

// resultOf are the files of a result but for those that tell when and how it was made.
func resultOf(t *testing.T, out string) map[string]string {
	t.Helper()
	tree := sumTree(t, out)
	for _, name := range []string{reportName, sumsName} {
		delete(tree, name)
	}
	return tree
}
