#!/usr/bin/env bash
# SimGrid does not take a link at its word: 1 GB over a link of 1 GB/s and 1 ms takes 1.044 s, not 1.001 s, with no
# other traffic and no configuration. Its default model LV08 multiplies the bandwidth by 0.97 and the latency by 13.01.
# Two such transfers in opposite directions over two links, one a direction, slow each other down although they share
# none of them: 1.096 s. The acknowledgements of one take 5 % of the other's link (network/crosstraffic). Seen with
# Debian's SimGrid 3.32-2+b2:
#
#   one transfer: 1.0439 s, two in opposite directions: 1.0955 s
#
# network/model:CM02, network/crosstraffic:0 and network/TCP-gamma:0 make links what they are said to be.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -o APT::Sandbox::User=root download libsimgrid-dev=3.32-2+b2 libsimgrid3.32=3.32-2+b2 libboost1.74-dev libboost-context1.74.0 >/dev/null
for package in *.deb; do dpkg -x "$package" root; done
cat >two.cpp <<'P'
#include <cstdio>
#include <simgrid/s4u.hpp>
namespace sg4 = simgrid::s4u;

int main(int argc, char **argv)
{
    sg4::Engine engine(&argc, argv);
    auto       *zone = sg4::create_full_zone("two");
    auto       *a = zone->create_host("a", 1e9), *b = zone->create_host("b", 1e9);
    auto       *there = zone->create_link("there", 1e9)->set_latency(1e-3)->seal();
    auto       *back = zone->create_link("back", 1e9)->set_latency(1e-3)->seal();

    zone->add_route(a->get_netpoint(), b->get_netpoint(), nullptr, nullptr, {sg4::LinkInRoute(there)}, false);
    zone->add_route(b->get_netpoint(), a->get_netpoint(), nullptr, nullptr, {sg4::LinkInRoute(back)}, false);
    zone->seal();
    sg4::Actor::create("one", a, [&] {
        sg4::Comm::sendto(a, b, 1000000000);
        const double alone = sg4::Engine::get_clock();
        auto         other = sg4::Comm::sendto_async(b, a, 1000000000);
        sg4::Comm::sendto(a, b, 1000000000);
        std::printf("one transfer: %.4f s, two in opposite directions: %.4f s\n", alone, sg4::Engine::get_clock() - alone);
        other->wait();
    });
    engine.run();
    return 0;
}
P
libraries=root/usr/lib/x86_64-linux-gnu
g++ -std=c++17 -Iroot/usr/include two.cpp -o two -L"$libraries" -lsimgrid -Wl,-rpath-link,"$libraries"
seen=$(LD_LIBRARY_PATH=$PWD/$libraries ./two 2>/dev/null)
echo "$seen"
[[ $seen == "one transfer: 1.0439 s, two in opposite directions: 1.0955 s" ]]
