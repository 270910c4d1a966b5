"""The device of each module of a PyTorch model."""
# made by: emplace place

DEVICE_MAP = {
    "model.embed_tokens": "cuda:0",
    "model.layers.0": "cuda:0",
    "model.layers.1.self_attn": "cuda:1",  # the placement has some of it elsewhere
    "model.layers.1.self_attn.k_proj": "cuda:0",

    # the last part
    "a \"quoted\" \\ path": "cpu",
    "": "cuda:12"
}
print("not looked at")
