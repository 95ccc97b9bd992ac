package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kafsck/internal/fixture"
)

// TestSecretsAreNotShown: what --format kafka shows of a user's credentials, as kafka-dump-log does,
// no other output has: neither decoded, nor in the bytes of a value, nor in what --json says of it.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	dir := fixture.Unpack(t, "metadata")
	met := 0
	for _, name := range namesBelow(t, dir) {
		if !strings.Contains(name, "__cluster_metadata-0/") || filepath.Ext(name) != ".log" {
			continue
		}
		file := filepath.Join(dir, name)
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, kafka, _ := kafsck("dump", "--format", "kafka", "--cluster-metadata-decoder", "--files", file)
		found := regexp.MustCompile(`"(?:salt|storedKey|serverKey)":"([^"]+)"`).FindAllStringSubmatch(kafka, -1)
		if len(found) == 0 {
			continue
		}
		for _, args := range [][]string{{}, {"--full"}, {"--json"}, {"--value-format", "hex"}, {"--value-format", "base64"}, {"--value-format", "redacted", "--json"}} {
			code, out, errs := kafsck(append(append([]string{"dump", "--records"}, args...), file)...)
			if code != 0 || !strings.Contains(out, "USER_SCRAM_CREDENTIAL_RECORD") {
				t.Fatalf("%v: exit code %d: %s", args, code, errs)
			}
			if len(args) > 0 && args[len(args)-1] == "--json" {
				out += plainValues(t, out)
			}
			for _, m := range found {
				secret, err := base64.StdEncoding.DecodeString(m[1])
				if err != nil || !bytes.Contains(raw, secret) {
					t.Fatalf("%s is not in the file: %v", m[1], err)
				}
				met++
				if strings.Contains(out, m[1]) || strings.Contains(out, hex.EncodeToString(secret)) || strings.Contains(out, string(secret)) {
					t.Errorf("%s: %v shows %s", name, args, m[0])
				}
			}
		}
	}
	if met < 18 {
		t.Errorf("%d secrets were met", met)
	}
}

// plainValues are the bytes of all values in record lines.
func plainValues(t *testing.T, out string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(out) {
		var r struct{ Value []byte }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		b.Write(r.Value)
	}
	return b.String()
}
