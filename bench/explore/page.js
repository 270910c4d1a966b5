'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const page = document.getElementById('page');
  const state = {placement: data.shown, measure: 'run_ns', row: -1, op: -1};
  const pathColours = ['#0072b2', '#56b4e9', '#e69f00', '#009e73', '#cc79a7', '#888888'];
  const measures = [['run_ns', 'seconds that ops run'], ['wait_ns', 'seconds that ready ops wait'],
    ['blame_ns', 'share of the critical path'], ['ops', 'number of ops']];

  /* An element with attributes and children, which are elements or texts. */
  const make = (tag, attributes, ...children) => {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key === 'onclick' || key === 'oninput') element[key] = value;
      else element.setAttribute(key, value);
    }
    element.append(...children.filter(child => child !== null));
    return element;
  };
  const sum = list => list.reduce((a, b) => a + b, 0);
  const digits = value => value >= 100 ? value.toFixed(0) : value.toPrecision(3);
  const seconds = ns => {
    if (ns === 0) return '0';
    if (Math.abs(ns) >= 1e9) return digits(ns / 1e9) + ' s';
    if (Math.abs(ns) >= 1e6) return digits(ns / 1e6) + ' ms';
    return digits(ns / 1e3) + ' µs';
  };
  const bytes = b => b >= 2 ** 30 ? digits(b / 2 ** 30) + ' GiB'
    : b >= 2 ** 20 ? digits(b / 2 ** 20) + ' MiB' : digits(b / 1024) + ' KiB';
  const percent = share => (100 * share).toFixed(share !== 0 && Math.abs(share) < 0.1 ? 1 : 0) + ' %';
  const change = share => {
    const amount = (100 * Math.abs(share)).toFixed(1);
    return (Number(amount) === 0 ? '±' : share > 0 ? '+' : '−') + amount + ' %';
  };
  const now = () => data.placements[state.placement];

  /* ---- the machine ---- */

  const bar = (share, colour) => make('div', {class: 'bar'}, make('i',
    {class: share > 1 ? 'over' : '', style: `width:${Math.min(100, 100 * share)}%;--colour:${colour}`}));

  const machine = () => {
    const p = now(), cards = make('div', {class: 'devices'});
    data.devices.forEach((device, d) => {
      const load = p.step_ns > 0 ? p.busy_ns[d] / p.step_ns : 0;
      const fill = device.memory_bytes > 0 ? p.peak_bytes[d] / device.memory_bytes : 0;
      cards.append(make('div', {class: 'device', style: `--colour:${device.colour}`, 'data-device': d},
        make('b', {}, `${device.name} (${device.model})`),
        `computes ${seconds(p.busy_ns[d])}, ${percent(load)} of the step`, bar(load, device.colour),
        `memory ${bytes(p.peak_bytes[d])} of ${bytes(device.memory_bytes)}`, bar(fill, device.colour),
        `${sum(p.rows.map(row => row.ops[d]))} ops`));
    });
    return make('section', {id: 'machine'}, make('h2', {}, 'Machine'), cards,
      make('p', {class: 'note'}, `${bytes(p.traffic_bytes)} in ${p.copies} copies between memories.`));
  };

  const path = () => {
    const p = now(), line = make('div', {class: 'path'}), keys = make('ul', {class: 'keys'});
    p.path_ns.forEach((ns, i) => {
      if (ns === 0) return;
      line.append(make('i', {style: `flex:${ns} 0 0;background:${pathColours[i]}`}));
      keys.append(make('li', {}, make('i', {style: `background:${pathColours[i]}`}),
        `${data.path_words[i]} ${seconds(ns)}, ${percent(ns / p.step_ns)}`));
    });
    return make('section', {id: 'path'}, make('h2', {}, 'Critical path'), line, keys);
  };

  /* ---- layers and devices ---- */

  const choose = (row, op) => { state.row = row; state.op = op; draw(); };

  const heat = () => {
    const p = now(), isTime = state.measure !== 'ops';
    const most = Math.max(1, ...p.rows.flatMap(row => row[state.measure]));
    const head = make('tr', {}, make('th', {}, 'layer'));
    for (const device of data.devices)
      head.append(make('th', {}, device.name, make('i', {style: `background:${device.colour}`})));
    const body = make('tbody');
    p.rows.forEach((row, r) => {
      const line = make('tr', {class: r === state.row ? 'chosen' : ''},
        make('th', {}, make('button', {title: data.rows[r], 'data-row': r, onclick: () => choose(r, -1)}, data.rows[r])));
      row[state.measure].forEach((value, d) => {
        const strength = Math.sqrt(value / most);
        line.append(make('td', {}, make('button', {'data-row': r, 'data-device': d, onclick: () => choose(r, -1),
          style: value > 0 ? `background:rgba(0,114,178,${(0.08 + 0.87 * strength).toFixed(3)});`
            + (strength > 0.55 ? 'color:#fff' : '') : 'color:var(--soft)'},
        value === 0 ? '·' : isTime ? seconds(value) : String(value))));
      });
      body.append(line);
    });
    const select = make('select', {id: 'measure'}, ...measures.map(([key, words]) =>
      make('option', key === state.measure ? {value: key, selected: ''} : {value: key}, words)));
    select.onchange = () => { state.measure = select.value; draw(); };
    return make('section', {id: 'heat'}, make('h2', {}, 'Layers and devices'),
      make('p', {}, make('label', {}, 'Show ', select)),
      make('div', {class: 'scroll'}, make('table', {class: 'heat'}, make('thead', {}, head), body)));
  };

  /* ---- what is chosen ---- */

  const moves = list => {
    const p = now(), body = make('tbody');
    list.forEach((move, d) => {
      if (move === null) return;
      const [ops, estimate, step, fits] = move;
      const gain = step === null ? null : step / p.step_ns - 1;
      body.append(make('tr', {'data-to': d}, make('td', {}, data.devices[d].name), make('td', {}, String(ops)),
        make('td', {}, estimate === null ? '–' : change(estimate - 1)),
        step === null ? make('td', {}, 'not simulated')
          : make('td', {class: fits === false ? 'bad' : gain < 0 ? 'good' : ''},
            `${seconds(step)}, ${change(gain)}${fits === false ? ', does not fit' : ''}`)));
    });
    if (!body.firstChild) return make('p', {class: 'note'}, 'It can be on no other device.');
    return make('div', {class: 'scroll'}, make('table', {class: 'moves'}, make('caption', {}, 'If it moved to'),
      make('thead', {}, make('tr', {}, ...['device', 'ops that move', 'surrogate', 'oracle: the step'].map(
        words => make('th', {}, words)))), body));
  };

  const facts = list => make('dl', {}, ...list.flatMap(([key, value]) => [make('dt', {}, key), make('dd', {}, value)]));

  const opsOf = row => {
    const p = now(), list = make('ul', {class: 'list'});
    p.ops.forEach((op, i) => {
      if (row >= 0 && op.row !== row) return;
      list.append(make('li', {}, make('button', {class: i === state.op ? 'chosen' : '', 'data-op': i,
        onclick: () => choose(op.row, i)}, make('span', {}, data.names[op.name]),
      make('span', {}, data.devices[op.device].name), make('span', {}, seconds(op.run_ns)))));
    });
    if (!list.firstChild) return make('p', {class: 'note'}, 'None of its ops is among those listed.');
    return list;
  };

  const opFacts = op => facts([['type', op.type], ['layer', data.rows[op.row]], ['device', data.devices[op.device].name],
    ['ready', op.ready_ns < 0 ? 'at once' : 'after ' + seconds(op.ready_ns)],
    ['waits', seconds(op.wait_ns)], ['runs', seconds(op.run_ns)
      + (op.alone_ns !== op.run_ns ? `, ${seconds(op.alone_ns)} if nothing else ran` : '')],
    ['critical path', `${seconds(op.blame_ns)}, ${percent(op.blame_ns / now().step_ns)} of the step`]]);

  const detail = () => {
    const p = now(), section = make('section', {id: 'detail', class: 'detail'});
    if (state.op >= 0) {
      const op = p.ops[state.op];
      section.append(make('h3', {}, data.names[op.name]), opFacts(op), moves(op.moves));
    } else if (state.row >= 0) {
      const row = p.rows[state.row];
      section.append(make('h3', {}, data.rows[state.row]), facts([
        ['ops', data.devices.map((device, d) => row.ops[d] > 0 ? `${row.ops[d]} on ${device.name}` : '')
          .filter(words => words).join(', ')],
        ['wait', seconds(sum(row.wait_ns)) + ' together'], ['run', seconds(sum(row.run_ns)) + ' together'],
        ['critical path', `${seconds(sum(row.blame_ns))}, ${percent(sum(row.blame_ns) / p.step_ns)} of the step`]]),
      moves(row.moves));
    } else {
      section.append(make('h3', {}, 'The ops that matter most'),
        make('p', {class: 'note'}, 'Click a layer, or an op of this list.'));
    }
    section.append(make('h3', {}, state.row < 0 ? 'Ops' : `Ops of ${data.rows[state.row]}`),
      make('p', {class: 'note'}, 'Those most to blame for the step first, with their device and the time that they run.'),
      opsOf(state.row));
    if (state.row >= 0) section.append(make('p', {}, make('button', {id: 'all', onclick: () => choose(-1, -1)}, 'All layers')));
    return section;
  };

  /* ---- the page ---- */

  const verdict = p => {
    const best = data.placements[0];
    const behind = p === best || !best.fits ? '' : `, ${change(p.step_ns / best.step_ns - 1)} against the best`;
    return [make('b', {}, p.label), ' ', make('span', {class: p.fits ? '' : 'bad'},
      `${seconds(p.step_ns)} a step${p.fits ? '' : ', does not fit in memory'}${behind}`)];
  };

  /* The slider stays when the rest is drawn anew, so that it can be dragged. */
  const count = data.placements.length;
  const slider = make('input', {type: 'range', id: 'slider', min: 0, max: count - 1, step: 1, value: data.shown,
    'aria-label': 'placement', oninput: () => { state.placement = Number(slider.value); state.op = -1; draw(); }});
  const number = make('span'), said = make('span', {id: 'verdict'}), rest = make('div', {id: 'rest'});

  const foot = () => make('p', {class: 'note'},
    `${data.op_count} ops, runtime ${data.runtime}. All times are simulated. The surrogate estimates a change, by 1 to 40 %
     too much or too little; the oracle simulates the step with the layer, or the op and all ops bound to it, on the
     other device. Shares of the critical path add up to the step. Made by emplace ${data.version}: ${data.command}`);

  const draw = () => {
    number.textContent = count > 1 ? `Placement ${state.placement + 1} of ${count}` : 'Placement';
    said.replaceChildren(...verdict(now()));
    rest.replaceChildren(machine(), path(), make('div', {class: 'look'}, heat(), detail()), foot());
  };
  page.replaceChildren(make('section', {class: 'pick'}, make('label', {}, number, count > 1 ? slider : null, said)), rest);
  draw();
})();
