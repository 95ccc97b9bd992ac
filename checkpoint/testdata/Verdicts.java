// Prints what the classes of Kafka 4.3.1 make of the text files beside a log.
//
// stdin:  one case a line: kind, space, the file's bytes in base64
// stdout: one verdict a line: "ok" and the content, "io" and the IOException, or
//         "unchecked" and the exception or error that is no IOException
//
//     javac -cp 'lib/*' Verdicts.java && java -Xmx512m -cp '.:lib/*' Verdicts < cases
//
// lib holds org.apache.kafka:kafka_2.13:4.3.1 and its dependencies.
import java.io.*;
import java.nio.file.*;
import java.util.*;
import org.apache.kafka.common.*;
import org.apache.kafka.metadata.properties.*;
import org.apache.kafka.raft.FileQuorumStateStore;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.checkpoint.*;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;

public class Verdicts {
    // Anything but printable ASCII as % and four hexadecimal digits of the UTF-16 code unit.
    static String escape(String s) {
        StringBuilder b = new StringBuilder();
        for (char c : s.toCharArray())
            b.append(c < 128 && c > 32 && c != '%' ? "" + c : String.format("%%%04x", (int) c));
        return b.toString();
    }

    static String read(String kind, Path dir, Path f) throws Exception {
        StringBuilder s = new StringBuilder("ok");
        LogDirFailureChannel channel = new LogDirFailureChannel(1);
        switch (kind) {
            case "epochs" -> {
                var file = new LeaderEpochCheckpointFile(f.toFile(), channel);
                for (var e : file.read())
                    s.append(" " + e.epoch() + ":" + e.startOffset());
                new LeaderEpochFileCache(new TopicPartition("t", 0), file, new KafkaScheduler(1));
            }
            case "offsets" -> {
                var sorted = new TreeMap<String, Long>();
                new OffsetCheckpointFile(f.toFile(), channel).read()
                    .forEach((k, v) -> sorted.put(escape(k.topic()) + ":" + k.partition(), v));
                sorted.forEach((k, v) -> s.append(" " + k + ":" + v));
            }
            case "partition" -> {
                var p = new PartitionMetadataFile(f.toFile(), channel).read();
                s.append(" " + p.version() + " " + p.topicId());
            }
            case "meta" -> {
                Properties props = PropertiesUtils.readPropertiesFile(f.toString());
                MetaProperties m = new MetaProperties.Builder(props).build();
                s.append(" " + m.version().number());
                s.append(" " + (m.nodeId().isPresent() ? "" + m.nodeId().getAsInt() : "-"));
                s.append(" " + escape(m.clusterId().orElse("")));
                s.append(" " + m.directoryId().map(Uuid::toString).orElse("-"));
                for (String k : new TreeSet<>(props.stringPropertyNames()))
                    s.append(" " + escape(k) + "=" + escape(props.getProperty(k)));
            }
            case "quorum" -> {
                var e = new FileQuorumStateStore(f.toFile()).readElectionState().get();
                s.append(" " + e.epoch() + " " + e.leaderIdOrSentinel() + " ");
                s.append(e.optionalVotedKey().map(k -> k.id() + "/" + k.directoryId().map(Uuid::toString).orElse("-")).orElse("-"));
            }
            case "clean" -> {
                var e = new CleanShutdownFileHandler(dir.toString()).read();
                s.append(e.isPresent() ? " " + e.getAsLong() : " -");
            }
            default -> throw new AssertionError(kind);
        }
        return s.toString();
    }

    public static void main(String[] args) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in));
        Path dir = Files.createTempDirectory("verdicts").resolve("t-0");
        Files.createDirectory(dir);
        for (String line; (line = in.readLine()) != null; ) {
            String kind = line.substring(0, line.indexOf(' '));
            Path f = dir.resolve(kind.equals("clean") ? ".kafka_cleanshutdown" : "f");
            Files.write(f, Base64.getDecoder().decode(line.substring(line.indexOf(' ') + 1)));
            try {
                System.out.println(read(kind, dir, f));
            } catch (Throwable t) {
                if (t instanceof org.apache.kafka.common.errors.KafkaStorageException)
                    t = t.getCause();
                System.out.println((t instanceof IOException ? "io " : "unchecked ") + t.getClass().getSimpleName());
            }
        }
    }
}
