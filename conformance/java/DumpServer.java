import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

import org.apache.kafka.common.utils.Exit;
import org.apache.kafka.tools.DumpLogSegments;

/**
 * Runs kafka-dump-log many times in one JVM: a start of the tool costs 0.35 s, a file a few milliseconds.
 *
 * Each line of standard input is one command line, its arguments separated by tabs. The answer is three
 * strings, each a big-endian int32 length and as many UTF-8 bytes: what the tool wrote to stdout, to stderr,
 * and how it ended: "" or the exception that left its main method.
 */
public class DumpServer {
    static class Exited extends RuntimeException {
        Exited(int code, String message) {
            super("exit " + code + (message == null ? "" : ": " + message));
        }
    }

    public static void main(String[] args) throws Exception {
        Exit.setExitProcedure((code, message) -> {
            throw new Exited(code, message);
        });
        DataOutputStream answer = new DataOutputStream(System.out);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            ByteArrayOutputStream err = new ByteArrayOutputStream();
            String end = "";
            PrintStream capturedOut = new PrintStream(out, false, StandardCharsets.UTF_8);
            PrintStream capturedErr = new PrintStream(err, false, StandardCharsets.UTF_8);
            System.setOut(capturedOut);
            System.setErr(capturedErr);
            try {
                DumpLogSegments.main(line.split("\t"));
            } catch (Throwable t) {
                end = t.toString();
            }
            capturedOut.flush();
            capturedErr.flush();
            write(answer, out.toByteArray());
            write(answer, err.toByteArray());
            write(answer, end.getBytes(StandardCharsets.UTF_8));
            answer.flush();
        }
    }

    static void write(DataOutputStream to, byte[] bytes) throws Exception {
        to.writeInt(bytes.length);
        to.write(bytes);
    }
}
