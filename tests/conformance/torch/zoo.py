"""Models of PyTorch with random weights, small enough to compile in seconds: what torch_models.py exports and compares."""
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops.while_loop import while_loop


class Case:
    """A model with inputs for it. `dynamic`: dynamic_shapes of torch.export, `profiles`: what kiln-cc is given for them."""

    def __init__(self, model, *inputs, dynamic=None, profiles=(), more=()):
        self.model, self.inputs, self.dynamic = model.eval(), inputs, dynamic
        self.profiles, self.more = profiles, more  # `more`: inputs of other sizes


def image(size=64, batch=1, channels=3):
    return torch.randn(batch, channels, size, size)


class TinyConvNet(nn.Module):
    """Convolution, batch normalisation, activation in place, pooling, a head."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.act, self.pool, self.head = nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Linear(8, 5)
        with torch.no_grad():
            self.norm.running_mean.normal_()
            self.norm.running_var.uniform_(0.5, 2.0)

    def forward(self, x):
        x = self.pool(self.act(self.norm(self.conv(x))))
        return self.head(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


class EncoderBlock(nn.Module):
    """A transformer's encoder block as BERT has it, with a mask of the tokens that count."""

    def __init__(self, width=16, heads=2, vocabulary=50, length=32):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.register_buffer("positions", torch.arange(length).expand((1, -1)), persistent=False)
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, self.size).transpose(1, 2)

    def forward(self, ids, mask):
        x = self.tokens(ids) + self.places(self.positions[:, :ids.shape[1]])
        scores = self.split(self.query(x)) @ self.split(self.key(x)).transpose(-1, -2) / math.sqrt(self.size)
        scores = scores + (1.0 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        context = torch.softmax(scores, dim=-1) @ self.split(self.value(x))
        context = context.permute(0, 2, 1, 3).contiguous().view(x.shape)
        x = self.first(x + self.out(context))
        return self.second(x + self.down(F.gelu(self.up(x))))


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sin


class DecoderBlock(nn.Module):
    """A decoder's block as Llama has it: root mean squares, rotary positions, shared key heads, a gated feed-forward."""

    def __init__(self, width=16, heads=4, key_heads=2):
        super().__init__()
        self.heads, self.key_heads, self.size = heads, key_heads, width // heads
        self.before, self.after = nn.RMSNorm(width, eps=1e-6), nn.RMSNorm(width, eps=1e-6)
        self.query = nn.Linear(width, width, bias=False)
        self.key, self.value = (nn.Linear(width, key_heads * self.size, bias=False) for _ in range(2))
        self.out = nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def qkv(self, x, positions):
        y = self.before(x)
        frequencies = 1.0 / (10000.0 ** (torch.arange(0, self.size, 2).float() / self.size))
        angles = torch.cat([positions[:, None].float() * frequencies] * 2, dim=-1)
        query, key, value = (one.unflatten(-1, (-1, self.size)).transpose(1, 2)
                             for one in (self.query(y), self.key(y), self.value(y)))
        return rotate(query, angles.cos(), angles.sin()), rotate(key, angles.cos(), angles.sin()), value

    def rest(self, x, attended):
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        y = self.after(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class DecoderWithCache(DecoderBlock):
    """Keys and values of the past come in and go out, longer by what is new."""

    def forward(self, x, past_key, past_value):
        past = past_key.shape[2]
        query, key, value = self.qkv(x, torch.arange(past, past + x.shape[1]))
        key, value = torch.cat((past_key, key), dim=2), torch.cat((past_value, value), dim=2)
        attended = F.scaled_dot_product_attention(query, key, value, enable_gqa=True)
        return self.rest(x, attended), key, value


class DecoderWithBuffers(DecoderBlock):
    """Keys and values lie in buffers, which each step writes at its position."""

    def __init__(self, length=8, **sizes):
        super().__init__(**sizes)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, self.key_heads, length, self.size))

    def forward(self, x, position):
        query, key, value = self.qkv(x, position)
        self.keys.index_copy_(2, position, key)
        self.values[:, :, position] = value
        seen = torch.arange(self.keys.shape[2]) <= position
        group = self.heads // self.key_heads
        attended = F.scaled_dot_product_attention(query, self.keys.repeat_interleave(group, 1),
                                                  self.values.repeat_interleave(group, 1), attn_mask=seen[None, None])
        return self.rest(x, attended)


class UNet(nn.Module):
    """Down and up again: group normalisation, SiLU, attention in the middle, transposed and nearest upsampling, skips."""

    def __init__(self, width=8):
        super().__init__()

        def block(inputs, outputs):
            return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(4, outputs), nn.SiLU())

        self.time = nn.Linear(8, 2 * width)
        self.first, self.second = block(3, width), block(width, 2 * width)
        self.down, self.middle = nn.Conv2d(width, width, 3, stride=2, padding=1), block(2 * width, 2 * width)
        self.up, self.last = nn.ConvTranspose2d(2 * width, width, 2, stride=2), block(2 * width, width)
        self.out = nn.Conv2d(width, 3, 1)

    def forward(self, x, step):
        angles = step[:, None].float() * torch.exp(torch.arange(4) * -0.5)
        first = self.first(x)
        y = self.second(self.down(first)) + self.time(torch.cat((angles.sin(), angles.cos()), 1))[:, :, None, None]
        flat = y.flatten(2).transpose(1, 2)
        y = y + F.scaled_dot_product_attention(flat, flat, flat).transpose(1, 2).reshape(y.shape)
        y = self.up(F.interpolate(F.avg_pool2d(self.middle(y), 2), scale_factor=2.0, mode="nearest"))
        return self.out(self.last(torch.cat((first, y), dim=1)))


class Writes(nn.Module):
    """Values written in place through views, of inputs too."""

    def forward(self, x, y):
        z = x.clone()
        z[:, 1:3].mul_(2)
        z[0].add_(y[0])
        left, right = z.chunk(2, dim=1)
        left.clamp_(max=1.0)
        z.transpose(0, 1)[0] = 7.0
        z[:, ::2] += 1
        y.add_(1)
        flat = y.clone().flatten()
        flat.mul_(3)
        kept = y * 2
        F.dropout(kept, 0.5, training=False).add_(1)
        return flat * 2, kept, z, right.sum(dim=0), torch.where(z > 0, z, -z).amax(1)


class Branches(nn.Module):
    """torch.cond on a tensor that a run gives."""

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda v: v.sin() + 1, lambda v: v.cos() * 2, (x,)) * 3


class Loop(nn.Module):
    """while_loop of torch, which has no place of its own yet, and einsum."""

    def forward(self, x, count):
        def goes_on(i, y):
            return i < count

        def step(i, y):
            return i + 1, torch.einsum("ij,jk->ki", y, y) / 4

        return while_loop(goes_on, step, (torch.zeros((), dtype=torch.long), x))


class Indices(nn.Module):
    """Gathers, scatters, orders and reductions."""

    def forward(self, x, i):
        best, places = x.topk(2, dim=1)
        taken = x[:, i], x[i, i], x.gather(1, places), x.index_select(0, i), torch.zeros_like(x).scatter(1, places, best)
        counted = x.cumsum(1), x.std(1), x.var(0, unbiased=False), torch.logsumexp(x, 1), x.argmax(1), x.norm(dim=1)
        ordered = x.sort(1, descending=True).values, x.roll(1, 1), x.flip(0), x.repeat(2, 1), torch.tril(x)
        return *taken, *counted, *ordered, x.masked_fill(x > 0.5, 0.0), F.pad(x, (1, 2), value=3.0)


class Activations(nn.Module):
    """Functions of single elements."""

    def forward(self, x, y):
        smooth = F.silu(x), F.gelu(x), F.gelu(x, approximate="tanh"), F.mish(x), F.softplus(x, 2.0), F.logsigmoid(x)
        kinked = F.elu(x), F.selu(x), F.celu(x, 0.5), F.leaky_relu(x, 0.1), F.hardswish(x), F.hardsigmoid(x), F.relu6(x), F.glu(x)
        exact = x.abs().sqrt(), x.abs().rsqrt(), x.exp(), x.expm1(), x.abs().log1p(), x.sin(), x.erf(), x.sigmoid(), x.atan()
        rounded = x.floor(), x.ceil(), (3 * x).round(), (3 * x).trunc(), x.sign(), x.clamp(-0.5, 0.5), x.clamp(min=y)
        divided = x / y, x // y, x % y, torch.fmod(x, y), torch.div(x, y, rounding_mode="trunc"), x ** 3, x.abs() ** y
        compared = x > y, x != y, x == x, torch.logical_and(x > 0, y > 0), torch.isnan(x), torch.maximum(x, y), ~(x < y)
        return *smooth, *kinked, *exact, *rounded, *divided, *compared, F.threshold(x, 0.1, 2.0), F.log_softmax(x, 0), torch.lerp(x, y, 0.3)


class Types(nn.Module):
    """Where types meet: integers, booleans, numbers."""

    def forward(self, i, j, x):
        whole = i + 2, i * j, i - j, i // j, i % j, torch.div(i, j, rounding_mode="trunc"), i.clamp(max=3), i & j, i ^ 1, -i
        mixed = i + 0.5, i / j, i * x, x * 3, i > 1.5, (i > 0) + j, i.float().mean(), i.sum(), (i > 0).sum(), (i > 0).any(1)
        made = torch.full_like(x, 2), torch.arange(3, 9, 2), torch.linspace(0, 1, 7), torch.eye(3), i.to(torch.uint8), x.long()
        return *whole, *mixed, *made, torch.where(i > j, x, 0.0), torch.pow(i, 2), 2 - i, x.new_zeros(2, 3), x.bool(), i.amax(), x.max(1)


class Windows(nn.Module):
    """Convolutions and pools in all their ways."""

    def __init__(self):
        super().__init__()
        self.grouped = nn.Conv2d(4, 8, 3, stride=2, padding=2, dilation=2, groups=2)
        self.same, self.line, self.solid = nn.Conv2d(4, 4, 4, padding="same"), nn.Conv1d(4, 6, 3), nn.Conv3d(1, 2, 2)
        self.up = nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2)
        self.wide = nn.ConvTranspose1d(4, 2, 2, stride=3, dilation=2)

    def forward(self, x):
        convolved = self.grouped(x), self.same(x), self.line(x[:, :, 0]), self.up(x), self.wide(x[:, :, 0]), self.solid(x[:, None])
        means = F.avg_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 2, 3, ceil_mode=True), F.avg_pool2d(x, 3, 1, 1, count_include_pad=False)
        most = F.max_pool2d(x, 3, 2, 1), F.max_pool2d(x, 2, 3, ceil_mode=True), F.max_pool2d(x, 2, dilation=2), F.max_pool1d(x[0], 2)
        adapted = F.adaptive_avg_pool2d(x, (3, 5)), F.adaptive_avg_pool2d(x, (11, 1)), F.adaptive_max_pool2d(x, 1)
        return *convolved, *means, *most, *adapted


class Resizes(nn.Module):
    """Resizing, padding and elements in another order."""

    def forward(self, x):
        nearest = (F.interpolate(x, scale_factor=2.0), F.interpolate(x, size=(5, 17)), F.interpolate(x, scale_factor=0.7),
                   F.interpolate(x, size=(7, 9), mode="nearest-exact"))
        linear = (F.interpolate(x, scale_factor=2.0, mode="bilinear"), F.interpolate(x, size=(5, 7), mode="bilinear"),
                  F.interpolate(x, size=(13, 6), mode="bilinear", align_corners=True), F.interpolate(x[0], size=9, mode="linear"))
        padded = (F.pad(x, (1, 2, 3, 0)), F.pad(x[0], (2, 1), mode="reflect"), F.pad(x, (2, 1, 0, 3), mode="replicate"),
                  F.pad(x, (-1, 2)), F.pad(x, (1, 1, 1, 1), mode="circular"))
        moved = (F.pixel_shuffle(x, 2), F.pixel_unshuffle(x, 2), F.channel_shuffle(x, 2), x.roll((1, -2), (2, 3)), x.flip(2, 3),
                 x.repeat_interleave(2, 1), x.tile(2, 1, 1, 1))
        return *nearest, *linear, *padded, *moved


def torchvision_cases():
    from torchvision import models, ops

    class Pyramid(nn.Module):
        """A detection backbone: ResNet's stages with frozen normalisation and a feature pyramid."""

        def __init__(self):
            super().__init__()
            body = models.resnet18(weights=None, norm_layer=ops.FrozenBatchNorm2d)
            self.stem = nn.Sequential(body.conv1, body.bn1, body.relu, body.maxpool)
            self.stages = nn.ModuleList([body.layer1, body.layer2, body.layer3, body.layer4])
            self.pyramid = ops.FeaturePyramidNetwork([64, 128, 256, 512], 32)

        def forward(self, x):
            x, found = self.stem(x), {}
            for i, stage in enumerate(self.stages):
                x = found[str(i)] = stage(x)
            return tuple(self.pyramid(found).values())

    def of(name, size=64, **options):
        return lambda: Case(getattr(models, name)(weights=None, **options), image(size))

    return {
        "resnet18": of("resnet18"), "resnet50": of("resnet50"), "mobilenet_v2": of("mobilenet_v2"),
        "mobilenet_v3_small": of("mobilenet_v3_small"), "efficientnet_b0": of("efficientnet_b0"),
        "densenet121": of("densenet121"), "shufflenet_v2_x0_5": of("shufflenet_v2_x0_5"),
        "squeezenet1_1": of("squeezenet1_1"), "regnet_y_400mf": of("regnet_y_400mf"),
        "convnext_tiny": of("convnext_tiny"), "vit_b_16": of("vit_b_16", 224), "pyramid": lambda: Case(Pyramid(), image()),
    }


def cases():
    """By name, each made when it is asked for."""
    past, batch = torch.export.Dim("past", max=64), torch.export.Dim("batch", max=64)

    def encoder():
        def inputs(count, length):
            return torch.randint(0, 50, (count, length)), torch.ones(count, length, dtype=torch.long).tril()
        return Case(EncoderBlock(), *inputs(2, 12), dynamic=({0: batch}, {0: batch}), profiles=("batch=1:2:8",),
                    more=(inputs(5, 12), inputs(1, 12)))

    def decoder():
        return Case(DecoderWithCache(), torch.randn(1, 3, 16), *torch.randn(2, 1, 2, 5, 4))

    def growing():
        def inputs(length):
            return torch.randn(1, 1, 16), *torch.randn(2, 1, 2, length, 4)
        return Case(DecoderWithCache(), *inputs(5), dynamic=(None, {2: past}, {2: past}), profiles=("past=1:4:31",),
                    more=(inputs(9), inputs(1)))

    def fully_convolutional():
        side = torch.export.Dim("side", min=2, max=20)
        return Case(nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.Hardswish(), nn.Conv2d(8, 4, 3, 2, 1)),
                    image(128), dynamic=({2: 32 * side},), profiles=("side=64:128:640:32",),
                    more=((torch.randn(1, 3, 320, 128),),))

    return {
        "tiny_convnet": lambda: Case(TinyConvNet(), image(8, 2), dynamic=({0: batch},), profiles=("batch=1:2:8",),
                                     more=((image(8, 3),),)),
        "encoder": encoder, "decoder": decoder, "decoder_growing": growing,
        "decoder_buffers": lambda: Case(DecoderWithBuffers(), torch.randn(1, 1, 16), torch.tensor([2])),
        "unet": lambda: Case(UNet(), image(16, 2), torch.tensor([3, 7])),
        "fully_convolutional": fully_convolutional,
        "writes": lambda: Case(Writes(), torch.randn(3, 6), torch.randn(2, 6)),
        "branches": lambda: Case(Branches(), torch.randn(4)),
        "loop": lambda: Case(Loop(), torch.randn(3, 3), torch.tensor(3)),
        "indices": lambda: Case(Indices(), torch.randn(6, 6), torch.tensor([0, 2, 5])),
        "activations": lambda: Case(Activations(), torch.randn(6, 4), torch.randn(6, 4)),
        "types": lambda: Case(Types(), torch.randint(-5, 6, (3, 4)), torch.randint(1, 4, (3, 4)), torch.randn(3, 4)),
        "windows": lambda: Case(Windows(), image(10, 2, 4)),
        "resizes": lambda: Case(Resizes(), image(8, 1, 4)),
        "encoder_layer": lambda: Case(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), torch.randn(2, 5, 16)),
        "bfloat16": lambda: Case(nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32)).bfloat16(),
                                 torch.randn(3, 16).bfloat16()),
    }
