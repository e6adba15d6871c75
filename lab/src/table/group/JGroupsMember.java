// A member of a group of JGroups, for the table `group`: casts, and counts what is delivered.
//
//   JGroupsMember MEMBERS SENDERS LENGTH WARM SECONDS bulk|one fifo|total
//
// The same work, and the same line of JSON at the end, as cpg.c beside it. The stack is the one
// that JGroups ships as udp.xml; for one order of all, SEQUENCER above its membership.
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Locale;
import org.jgroups.*;
import org.jgroups.protocols.SEQUENCER;
import org.jgroups.protocols.pbcast.GMS;
import org.jgroups.stack.ProtocolStack;
import org.jgroups.util.MessageBatch;

public class JGroupsMember implements Receiver {
    private JChannel channel;
    private volatile View view;
    private long delivered, octets, own;

    private synchronized void count(Address from, int length) {
        delivered++;
        octets += length;
        if (from.equals(channel.getAddress())) {
            own++;
            notifyAll();
        }
    }

    public void receive(Message message) {
        count(message.getSrc(), message.getLength());
    }

    public synchronized void receive(MessageBatch batch) {
        for (Message message : batch) count(message.getSrc(), message.getLength());
    }

    public void viewAccepted(View next) {
        view = next;
    }

    private synchronized long[] figures() {
        return new long[] {delivered, octets};
    }

    private synchronized void awaitOwn(long cast) throws InterruptedException {
        while (own < cast) wait(1000);
    }

    public static void main(String[] words) throws Exception {
        new JGroupsMember().run(words);
    }

    private void run(String[] words) throws Exception {
        int members = Integer.parseInt(words[0]), senders = Integer.parseInt(words[1]);
        int length = Integer.parseInt(words[2]);
        double warm = Double.parseDouble(words[3]), seconds = Double.parseDouble(words[4]);
        boolean one = words[5].equals("one");
        OperatingSystemMXBean system =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        channel = new JChannel("udp.xml");
        if (words[6].equals("total")) {
            channel.getProtocolStack().insertProtocol(
                new SEQUENCER(), ProtocolStack.Position.ABOVE, GMS.class);
        }
        channel.setReceiver(this).setDiscardOwnMessages(false).connect("lab");
        while (view == null || view.size() < members) Thread.sleep(10);
        boolean sends = view.getMembers().indexOf(channel.getAddress()) < senders;
        long start = System.nanoTime(), measured = 0, used = 0, cast = 0;
        long[] before = new long[2];
        double[] times = new double[1 << 20];
        int samples = 0;
        while (true) {
            long now = System.nanoTime();
            if (measured == 0 && now - start >= warm * 1e9) {
                measured = now;
                used = system.getProcessCpuTime();
                before = figures();
            }
            if (measured != 0 && now - measured >= seconds * 1e9) break;
            if (!sends) {
                Thread.sleep(1);
                continue;
            }
            long sent = System.nanoTime();
            channel.send(new BytesMessage(null, new byte[length]));
            cast++;
            if (one) {
                awaitOwn(cast);
                if (measured != 0 && samples < times.length) {
                    times[samples++] = (System.nanoTime() - sent) / 1e9;
                }
            }
        }
        double took = (System.nanoTime() - measured) / 1e9;
        double processor = (system.getProcessCpuTime() - used) / 1e9;
        long[] now = figures();
        Arrays.sort(times, 0, samples);
        System.out.printf(
            Locale.ROOT,
            "{\"delivered\":%d,\"octets\":%d,\"seconds\":%.6f,\"processor\":%.6f,\"p50\":%.9f,"
                + "\"p99\":%.9f}%n",
            now[0] - before[0], now[1] - before[1], took, processor,
            samples > 0 ? times[samples / 2] : 0, samples > 0 ? times[samples * 99 / 100] : 0);
        System.out.flush();
        // A channel that is closed waits for the others.
        Runtime.getRuntime().halt(0);
    }
}
