// SPDX-License-Identifier: GPL-3.0-or-later
/* SimGrid as an oracle: simgrid_oracle fifo|dag FILE RUNS
 *
 * Reads a placed problem (format: README.md), simulates it RUNS times, and prints a line
 * a run: CPU seconds, step time in ns.
 *
 *   fifo  the rules of the profile `ideal`: queues in callbacks of completion; an Exec or
 *         Comm exists from the moment in which it starts
 *   dag   all activities of the step exist from the start, and SimGrid does the rest:
 *         ops share their device fairly, transfers their links
 *
 * The only C++ here, because SimGrid's interface is. */
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <deque>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include <simgrid/s4u.hpp>
#include <xbt/log.h>

namespace sg4 = simgrid::s4u;

namespace
{

struct Edge {
    int id, memory;
};

struct Route {
    double           latency_ns = 0, ns_per_byte = 0;
    std::vector<int> links;
};

struct Op {
    int               device = 0;
    double            duration_ns = 0;
    int               first_output = 0, output_count = 0;
    std::vector<Edge> inputs;
    std::vector<int>  followers;
};

struct Tensor {
    int               home = 0;
    uint64_t          copy_bytes = 0;
    std::vector<Edge> readers;
};

struct Problem {
    int                             device_count = 0, link_count = 0;
    std::vector<int>                host; /* of each device; a CPU is its own */
    std::vector<std::vector<Route>> route;
    std::vector<Op>                 op;
    std::vector<Tensor>             tensor;
};

std::vector<Edge> read_edges(std::istream &in)
{
    size_t count = 0;
    in >> count;
    std::vector<Edge> edges(count);
    for (Edge &e : edges) in >> e.id >> e.memory;
    return edges;
}

std::vector<int> read_numbers(std::istream &in)
{
    size_t count = 0;
    in >> count;
    std::vector<int> numbers(count);
    for (int &n : numbers) in >> n;
    return numbers;
}

/* Memory is not simulated: bytes of buffers and who shares them are skipped. */
Problem read_problem(const char *path)
{
    std::ifstream in(path);
    Problem       p;
    size_t        op_count = 0, tensor_count = 0;
    std::string   skipped;

    in >> p.device_count >> p.link_count >> op_count >> tensor_count;
    p.host.resize(p.device_count);
    for (int &h : p.host) in >> h;
    p.route.assign(p.device_count, std::vector<Route>(p.device_count));
    for (auto &row : p.route) {
        for (Route &r : row) {
            in >> r.latency_ns >> r.ns_per_byte;
            r.links = read_numbers(in);
        }
    }
    p.op.resize(op_count);
    for (Op &o : p.op) {
        in >> o.device >> o.duration_ns >> skipped >> skipped >> skipped;
        in >> o.first_output >> o.output_count;
        o.inputs = read_edges(in);
        o.followers = read_numbers(in);
    }
    p.tensor.resize(tensor_count);
    for (Tensor &t : p.tensor) {
        in >> t.home >> skipped >> skipped >> t.copy_bytes;
        t.readers = read_edges(in);
    }
    if (!in) throw std::runtime_error(std::string(path) + " is no placed problem");
    return p;
}

/* A host per device that does one unit of work a nanosecond, so that times are whole
 * numbers of work; between two hosts the links of the machine, and one that holds the
 * latency and the rate of the route. */
struct Platform {
    std::vector<sg4::Host *> host;

    explicit Platform(const Problem &p)
    {
        auto *zone = sg4::create_full_zone("machine");
        for (int d = 0; d < p.device_count; d++)
            host.push_back(zone->create_host("device" + std::to_string(d), 1e9));
        std::vector<double> rate(p.link_count, 1.0);
        for (const auto &row : p.route) {
            for (const Route &r : row) {
                for (int link : r.links)
                    rate[link] = std::max(rate[link], 1e9 / r.ns_per_byte);
            }
        }
        std::vector<sg4::Link *> link;
        for (int l = 0; l < p.link_count; l++)
            link.push_back(
                zone->create_link("link" + std::to_string(l), rate[l])->seal());
        for (int from = 0; from < p.device_count; from++) {
            for (int to = 0; to < p.device_count; to++)
                if (from != to) add_route(zone, p.route[from][to], link, from, to);
        }
        zone->seal();
    }

  private:
    void add_route(sg4::NetZone *zone, const Route &r,
                   const std::vector<sg4::Link *> &link, int from, int to)
    {
        std::string name = "way" + std::to_string(from) + "-" + std::to_string(to);
        auto       *way = zone->create_link(name, 1e9 / r.ns_per_byte);
        way->set_latency(r.latency_ns * 1e-9)->seal();
        std::vector<sg4::LinkInRoute> links{sg4::LinkInRoute(way)};
        for (int l : r.links) links.emplace_back(link[l]);
        zone->add_route(host[from]->get_netpoint(), host[to]->get_netpoint(), nullptr,
                        nullptr, links, false);
    }
};

/* A copy waits until it is first in line at its copy stream and at all of its links, which
 * it entered when it was requested: the rule of `ideal`. */
class Fifo
{
    struct Copy {
        int              tensor, from, to;
        std::vector<int> lines;
    };

    const Problem               &p;
    const Platform              &platform;
    std::vector<int>             missing;
    std::vector<std::deque<int>> ready; /* [device] ops; the front runs */
    std::vector<std::deque<int>> line;  /* [stream or link] copies; the front moves */
    std::vector<Copy>            copies;
    struct Running {
        sg4::ActivityPtr activity; /* keeps it alive */
        bool             is_copy;
        int              number;
    };
    std::unordered_map<const sg4::Activity *, Running> running;

  public:
    Fifo(const Problem &problem, const Platform &where) : p(problem), platform(where) {}

    void start()
    {
        missing.assign(p.op.size(), 0);
        ready.assign(p.device_count, {});
        line.assign(3 * p.device_count + p.link_count, {});
        copies.clear();
        for (const Op &o : p.op) {
            for (int f : o.followers) missing[f]++;
        }
        for (size_t op = 0; op < p.op.size(); op++)
            missing[op] += static_cast<int>(p.op[op].inputs.size());
        std::vector<int> sources;
        for (size_t op = 0; op < p.op.size(); op++)
            if (missing[op] == 0) sources.push_back(static_cast<int>(op));
        for (int op : sources) be_ready(op);
    }

    void completed(const sg4::Activity &activity)
    {
        const auto    at = running.find(&activity);
        const Running what = at->second;

        running.erase(at);
        if (what.is_copy)
            end_copy(what.number);
        else
            end_op(what.number);
    }

  private:
    void run_front(int device)
    {
        int  op = ready[device].front();
        auto exec = sg4::Exec::init();
        exec->set_flops_amount(p.op[op].duration_ns)->set_host(platform.host[device]);
        running[exec.get()] = {exec, false, op};
        exec->start();
    }

    void be_ready(int op)
    {
        int device = p.op[op].device;
        ready[device].push_back(op);
        if (ready[device].size() == 1) run_front(device);
    }

    void arrive(int op)
    {
        if (--missing[op] == 0) be_ready(op);
    }

    void tell(int tensor, int memory)
    {
        for (const Edge &e : p.tensor[tensor].readers)
            if (e.memory == memory) arrive(e.id);
    }

    void request(int tensor, int to)
    {
        int  from = p.tensor[tensor].home, number = static_cast<int>(copies.size());
        bool from_cpu = p.host[from] == from, to_cpu = p.host[to] == to;
        int  device = from_cpu && !to_cpu ? to : from;
        int  channel = from_cpu == to_cpu ? 2 : to_cpu ? 1 : 0;
        Copy copy{tensor, from, to, {3 * device + channel}};

        for (int link : p.route[from][to].links)
            copy.lines.push_back(3 * p.device_count + link);
        for (int l : copy.lines) line[l].push_back(number);
        copies.push_back(copy);
        move_if_first(number);
    }

    void move_if_first(int number)
    {
        const Copy &c = copies[number];
        for (int l : c.lines)
            if (line[l].front() != number) return;
        auto comm = sg4::Comm::sendto_init(platform.host[c.from], platform.host[c.to]);
        comm->set_payload_size(p.tensor[c.tensor].copy_bytes);
        running[comm.get()] = {comm, true, number};
        comm->start();
    }

    void end_op(int op)
    {
        const Op &o = p.op[op];
        for (int t = o.first_output; t < o.first_output + o.output_count; t++) {
            int              home = p.tensor[t].home;
            std::vector<int> sent{home};
            tell(t, home);
            for (const Edge &e : p.tensor[t].readers) {
                if (std::find(sent.begin(), sent.end(), e.memory) != sent.end()) continue;
                sent.push_back(e.memory);
                request(t, e.memory);
            }
        }
        for (int f : o.followers) arrive(f);
        ready[o.device].pop_front();
        if (!ready[o.device].empty()) run_front(o.device);
    }

    void end_copy(int number)
    {
        const Copy       done = copies[number];
        std::vector<int> next;
        for (int l : done.lines) {
            line[l].pop_front();
            if (line[l].empty()) continue;
            int first = line[l].front();
            if (std::find(next.begin(), next.end(), first) == next.end())
                next.push_back(first);
        }
        for (int copy : next) move_if_first(copy);
        tell(done.tensor, done.to);
    }
};

/* All of a step's activities, each after what it needs. */
class Dag
{
    const Problem            &p;
    const Platform           &platform;
    std::vector<sg4::ExecPtr> exec; /* [op] */
    std::vector<sg4::CommPtr> comms;

  public:
    Dag(const Problem &problem, const Platform &where) : p(problem), platform(where) {}

    void start()
    {
        exec.clear();
        comms.clear();
        for (const Op &o : p.op) {
            auto e = sg4::Exec::init();
            e->set_flops_amount(o.duration_ns)->set_host(platform.host[o.device]);
            exec.push_back(e);
        }
        for (size_t op = 0; op < p.op.size(); op++) connect(static_cast<int>(op));
        for (auto &c : comms) c->vetoable_start();
        for (auto &e : exec) e->vetoable_start();
    }

  private:
    template <class Before> void precede(const Before &before, int op)
    {
        const auto &known = before->get_successors();

        if (std::find(known.begin(), known.end(), exec[op]) == known.end())
            before->add_successor(exec[op]);
    }

    void connect(int op)
    {
        const Op &o = p.op[op];

        for (int f : o.followers) precede(exec[op], f);
        for (int t = o.first_output; t < o.first_output + o.output_count; t++)
            connect_tensor(op, p.tensor[t]);
    }

    void connect_tensor(int op, const Tensor &tensor)
    {
        std::map<int, sg4::CommPtr> comm; /* by memory */

        for (const Edge &e : tensor.readers) {
            if (e.memory == tensor.home) {
                precede(exec[op], e.id);
                continue;
            }
            sg4::CommPtr &c = comm[e.memory];
            if (!c) {
                c = sg4::Comm::sendto_init(platform.host[tensor.home],
                                           platform.host[e.memory]);
                c->set_payload_size(tensor.copy_bytes);
                exec[op]->add_successor(c);
                comms.push_back(c);
            }
            precede(c, e.id);
        }
    }
};

double cpu_s()
{
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

} // namespace

int main(int argc, char **argv)
{
    sg4::Engine engine(&argc, argv);
    if (argc != 4) {
        std::fprintf(stderr, "usage: simgrid_oracle fifo|dag FILE RUNS\n");
        return 2;
    }
    std::signal(SIGINT, SIG_IGN); /* who started this program handles it */
    xbt_log_control_set("root.thresh:warning");
    sg4::Engine::set_config("network/model:CM02");
    sg4::Engine::set_config("network/crosstraffic:0");
    sg4::Engine::set_config(
        "network/TCP-gamma:0"); /* no bound on a lone transfer's rate */
    const bool     is_dag = std::string(argv[1]) == "dag";
    const Problem  problem = read_problem(argv[2]);
    const Platform platform(problem);
    Fifo           fifo(problem, platform);
    Dag            dag(problem, platform);

    if (!is_dag)
        sg4::Activity::on_completion_cb(
            [&](const sg4::Activity &a) { fifo.completed(a); });
    for (int run = 0; run < std::stoi(argv[3]); run++) {
        double start_s = cpu_s(), clock_s = sg4::Engine::get_clock();
        if (is_dag)
            dag.start();
        else
            fifo.start();
        engine.run();
        double step_ns = (sg4::Engine::get_clock() - clock_s) * 1e9;
        std::printf("%.9f %.0f\n", cpu_s() - start_s, step_ns);
        std::fflush(stdout);
    }
    return 0;
}
