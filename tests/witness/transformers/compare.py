# SPDX-License-Identifier: GPL-3.0-or-later
import argparse, json, os, pathlib, random, subprocess, sys, tempfile, warnings, inspect, traceback
os.environ["HF_HUB_OFFLINE"] = "1"
warnings.filterwarnings("ignore")
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import torch, transformers
import draws
transformers.logging.set_verbosity_error()

def build(cls, cfg, device):
    with torch.device(device):
        m = cls._from_config(cfg) if hasattr(cls,"_from_config") else cls(cfg)
    m.tie_weights()
    return m.eval()

def main():
    p=argparse.ArgumentParser(); p.add_argument("emplace"); p.add_argument("--models",type=int,default=5); p.add_argument("--seed",type=int,default=1); p.add_argument("--only"); p.add_argument("--keep")
    a=p.parse_args()
    types=a.only.split(",") if a.only else draws.TYPES
    tmp=pathlib.Path(a.keep or tempfile.mkdtemp()); tmp.mkdir(exist_ok=True)
    bad=0;tot=0
    for t in types:
        ok=0; msgs=[]
        for i in range(a.models):
            rng=random.Random(f"{a.seed} {t} {i}")
            try:
                cls=draws.pick_class(t,rng)
                cfg=draws.draw_config(t,rng,rng.random()<.25)
                m=build(cls,cfg,"meta")
            except Exception as e:
                msgs.append(f"  [{i}] BUILD {type(e).__name__} {str(e)[:200]!r}"); continue
            cfg.architectures=[cls.__name__]
            f=tmp/f"{t}.{i}"; f.mkdir(exist_ok=True)
            cfg.save_pretrained(f)
            n=sum(x.numel() for x in m.parameters()); b=sum(v.numel() for k,v in m.named_buffers() if "correction_bias" in k)
            r=subprocess.run([a.emplace,"graph",f"hf:path={f}/config.json,phase=prefill,batch=1,seq=16","--json"],capture_output=True,text=True)
            tot+=1
            if r.returncode: msgs.append(f"  [{i}] REFUSED {n} {r.stderr.strip().splitlines()[-1]}"); bad+=1; continue
            s=json.loads(r.stdout)["parameter_count"]
            if s in (n,n+b): ok+=1
            else: msgs.append(f"  [{i}] WRONG {n}+{b} vs {s} ({s-n})"); bad+=1
        print(t,f"{ok}/{a.models}",flush=True)
        for x in msgs[:4]: print(x,flush=True)
    print(tot-bad,"of",tot)
main()
