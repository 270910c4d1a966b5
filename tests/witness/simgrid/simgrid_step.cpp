// SPDX-License-Identifier: GPL-3.0-or-later
/* A placed step in SimGrid: simgrid_step RULE FILE prints the step time in seconds.
 *
 *   lines    devices and links serve one after another, first come first served: the rules of
 *            the profile `ideal`. An actor for each device runs ops, one for each copy sends it.
 *   shares   devices as before; copies share links fairly, as SimGrid does it
 *   default  as shares, with SimGrid's own constants of a TCP network (LV08)
 *   streams  as shares, but a copy first waits for earlier ones as StarPU has it
 *
 * The file is made by tests/witness/placed.py. SimGrid knows rates of links and which links a
 * route has; the latency of a route is that of one more link, which nothing shares. */
#include <cstdio>
#include <deque>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>
#include <xbt/log.h>

namespace sg4 = simgrid::s4u;

namespace
{

struct Way {
    double           latency_s = 0;
    std::vector<int> links;
};

struct Op {
    int              device = 0;
    double           seconds = 0, bytes = 0;
    std::vector<int> readers;
    int              missing = 0;
};

struct Step {
    std::vector<bool>             is_cpu;
    std::vector<double>           rate; /* of each link */
    std::vector<std::vector<Way>> way;
    std::vector<Op>               op;
};

Step read_step(const char *path)
{
    std::ifstream in(path);
    Step          s;
    size_t        devices = 0, links = 0, ops = 0, edges = 0;
    std::string   name, host;

    in >> devices >> links >> ops >> edges;
    for (size_t d = 0; d < devices; d++) {
        in >> name >> host;
        s.is_cpu.push_back(name.rfind("cpu", 0) == 0);
    }
    s.rate.resize(links);
    for (double &r : s.rate) in >> r >> host; /* latencies are in the ways */
    s.way.assign(devices, std::vector<Way>(devices));
    for (auto &row : s.way) {
        for (Way &w : row) {
            size_t count = 0;
            in >> w.latency_s >> count;
            w.links.resize(count);
            for (int &link : w.links) in >> link;
        }
    }
    s.op.resize(ops);
    for (Op &o : s.op) in >> o.device >> o.seconds >> o.bytes;
    for (size_t e = 0; e < edges; e++) {
        int from = 0, to = 0;
        in >> from >> to;
        s.op[from].readers.push_back(to);
        s.op[to].missing++;
    }
    if (!in) throw std::runtime_error(std::string(path) + " is no placed step");
    return s;
}

std::vector<sg4::Host *> make_platform(const Step &s)
{
    auto                    *zone = sg4::create_full_zone("machine");
    std::vector<sg4::Host *> host;
    std::vector<sg4::Link *> link;
    const size_t             devices = s.is_cpu.size();

    for (size_t d = 0; d < devices; d++)
        host.push_back(zone->create_host("device" + std::to_string(d), 1e9));
    for (size_t l = 0; l < s.rate.size(); l++)
        link.push_back(zone->create_link("link" + std::to_string(l), s.rate[l])->seal());
    for (size_t a = 0; a < devices; a++) {
        for (size_t b = 0; b < devices; b++) {
            if (a == b) continue;
            auto *delay = zone->create_link(
                "delay" + std::to_string(a) + "-" + std::to_string(b), 1e15);
            delay->set_latency(s.way[a][b].latency_s);
            delay->set_sharing_policy(sg4::Link::SharingPolicy::FATPIPE)->seal();
            std::vector<sg4::LinkInRoute> links{sg4::LinkInRoute(delay)};
            for (int l : s.way[a][b].links) links.emplace_back(link[l]);
            zone->add_route(host[a]->get_netpoint(), host[b]->get_netpoint(), nullptr,
                            nullptr, links, false);
        }
    }
    zone->seal();
    return host;
}

class Runner
{
    struct Copy {
        int              op, to;
        std::vector<int> lines;
        int              waits_for; /* earlier copies */
        std::vector<int> before;    /* later ones that wait for this one */
        bool             is_done;
    };

    Step                           &s;
    const std::vector<sg4::Host *> &host;
    const bool                      has_lines, has_streams;
    std::vector<std::deque<int>>    ready; /* of each device */
    std::vector<sg4::SemaphorePtr>  work;
    std::vector<std::deque<int>>    line; /* of each link, then of each copy stream */
    std::vector<Copy>               copies;
    size_t                          left;
    sg4::SemaphorePtr               done = sg4::Semaphore::create(0);

  public:
    double end_s = 0;

    Runner(Step &step, const std::vector<sg4::Host *> &hosts, const std::string &rule)
        : s(step), host(hosts), has_lines(rule == "lines"),
          has_streams(rule == "streams"), ready(hosts.size()),
          line(step.rate.size() + 3 * hosts.size()), left(step.op.size())
    {
        for (size_t d = 0; d < host.size(); d++)
            work.push_back(sg4::Semaphore::create(0));
        for (size_t op = 0; op < s.op.size(); op++)
            if (s.op[op].missing == 0) be_ready(static_cast<int>(op));
        for (size_t d = 0; d < host.size(); d++)
            sg4::Actor::create("server", host[d], [this, d] { serve(d); })->daemonize();
        sg4::Actor::create("step", host[0], [this] { done->acquire(); });
    }

  private:
    void be_ready(int op)
    {
        ready[s.op[op].device].push_back(op);
        work[s.op[op].device]->release();
    }

    void serve(size_t device)
    {
        for (;;) {
            work[device]->acquire();
            int op = ready[device].front();
            ready[device].pop_front();
            sg4::this_actor::execute(s.op[op].seconds * 1e9);
            end(op);
        }
    }

    void arrive(int op)
    {
        if (--s.op[op].missing == 0) be_ready(op);
    }

    void end(int op)
    {
        const Op         &o = s.op[op];
        std::vector<bool> is_sent(host.size(), false);

        end_s = sg4::Engine::get_clock();
        for (int r : o.readers)
            if (s.op[r].device == o.device) arrive(r);
        for (int r : o.readers) {
            int to = s.op[r].device;
            if (to == o.device || is_sent[to]) continue;
            is_sent[to] = true;
            request(op, to);
        }
        if (--left == 0) done->release();
    }

    void request(int op, int to)
    {
        const int from = s.op[op].device, number = static_cast<int>(copies.size());
        const int links = static_cast<int>(s.rate.size());
        Copy      c{op, to, {}, 0, {}, false};

        if (has_lines) {
            c.lines = s.way[from][to].links;
            if (s.is_cpu[from] && !s.is_cpu[to])
                c.lines.push_back(links + 3 * to);
            else
                c.lines.push_back(links + 3 * from +
                                  (s.is_cpu[from] == s.is_cpu[to] ? 2 : 1));
        }
        for (int l : c.lines) line[l].push_back(number);
        for (int n = 0; has_streams && n < number; n++) {
            if (copies[n].is_done || !are_sequential(c, copies[n])) continue;
            copies[n].before.push_back(number);
            c.waits_for++;
        }
        copies.push_back(c);
        send_if_first(number);
    }

    /* StarPU 1.3, transfers_are_sequential(): one stream for each source and target; a copy
     * between two GPUs waits for copies back, and for those that enter one of the two. */
    bool are_sequential(const Copy &a, const Copy &b) const
    {
        const int  a_from = s.op[a.op].device, b_from = s.op[b.op].device;
        const bool a_is_peer = !s.is_cpu[a_from] && !s.is_cpu[a.to];
        const bool b_is_peer = !s.is_cpu[b_from] && !s.is_cpu[b.to];

        if (a_from == b_from && a.to == b.to) return true;
        if (a_is_peer && (b.to == a_from || b.to == a.to)) return true;
        return b_is_peer && (a.to == b_from || a.to == b.to);
    }

    void send_if_first(int number)
    {
        if (copies[number].waits_for > 0) return;
        for (int l : copies[number].lines)
            if (line[l].front() != number) return;
        sg4::Actor::create("copy", host[s.op[copies[number].op].device],
                           [this, number] { send(number); });
    }

    void send(int number)
    {
        const Copy c = copies[number];
        const Op  &o = s.op[c.op];

        sg4::Comm::sendto(host[o.device], host[c.to], static_cast<uint64_t>(o.bytes));
        std::vector<int> next;
        for (int l : c.lines) {
            line[l].pop_front();
            if (line[l].empty()) continue;
            int  first = line[l].front();
            bool is_known = false;
            for (int n : next) is_known |= n == first;
            if (!is_known) next.push_back(first);
        }
        copies[number].is_done = true;
        for (int n : copies[number].before)
            if (--copies[n].waits_for == 0) next.push_back(n);
        for (int n : next) send_if_first(n);
        for (int r : o.readers)
            if (s.op[r].device == c.to) arrive(r);
    }
};

} // namespace

int main(int argc, char **argv)
{
    sg4::Engine       engine(&argc, argv);
    const std::string rule = argc == 3 ? argv[1] : "";

    if (rule != "lines" && rule != "shares" && rule != "default" && rule != "streams") {
        std::fprintf(stderr, "usage: simgrid_step lines|shares|default|streams FILE\n");
        return 2;
    }
    xbt_log_control_set("root.thresh:warning");
    if (rule != "default") {
        sg4::Engine::set_config("network/model:CM02");
        sg4::Engine::set_config("network/bandwidth-factor:1");
        sg4::Engine::set_config("network/latency-factor:1");
        sg4::Engine::set_config("network/weight-S:0");
        sg4::Engine::set_config("network/crosstraffic:0"); /* no acknowledgements */
        sg4::Engine::set_config("network/TCP-gamma:0");    /* no window of TCP */
    }
    Step       step = read_step(argv[2]);
    const auto host = make_platform(step);
    Runner     runner(step, host, rule);
    engine.run();
    std::printf("%.9f\n", runner.end_s);
    return 0;
}
