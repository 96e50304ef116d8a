# SPDX-License-Identifier: Apache-2.0
"""The networks of models/ in PyTorch, for 32x32x3 pictures and ten classes, with torchvision's tensor names.

Each tensor is first filled as its `init` says; see models/ and src/graph/initialize.h.
"""
import math

import torch
from torch import nn

import philox

CLASSES = 10


class Block(nn.Module):
    """Basic residual block; a 1x1 projection where the shape changes."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        shortcut = self.downsample(x) if self.downsample else x
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + shortcut)


class ResNet20(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = nn.Sequential(Block(16, 16, 1), Block(16, 16, 1), Block(16, 16, 1))
        self.layer2 = nn.Sequential(Block(16, 32, 2), Block(32, 32, 1), Block(32, 32, 1))
        self.layer3 = nn.Sequential(Block(32, 64, 2), Block(64, 64, 1), Block(64, 64, 1))
        self.fc = nn.Linear(64, CLASSES)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(x.mean(dim=(2, 3)))


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, CLASSES)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


class Vgg16Bn(nn.Module):
    def __init__(self):
        super().__init__()
        layers, inputs = [], 3
        for width in [64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, 512, "M", 512, 512, 512, "M"]:
            if width == "M":
                layers.append(nn.MaxPool2d(2))
            else:
                layers += [nn.Conv2d(inputs, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
                inputs = width
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(512, CLASSES)

    def forward(self, x):
        return self.classifier(torch.flatten(self.features(x), 1))


def fan_in(module):
    return module.weight[0].numel()


def default_uniform(module):
    """PyTorch's default of Conv2d and Linear: U(-1/sqrt(fan_in), +) for weight and bias."""
    bound = 1 / math.sqrt(fan_in(module))
    return {"weight": ("uniform", bound), "bias": ("uniform", bound)}


def kaiming(module):
    fan_out = module.weight.shape[0] * module.weight[0, 0].numel()
    return {"weight": ("normal", math.sqrt(2 / fan_out)), "bias": ("constant", 0)}


def small_normal(module):
    return {"weight": ("normal", 0.01), "bias": ("constant", 0)}


# name -> (class, rule of convolutions, rule of linear layers)
NETS = {
    "lenet": (LeNet, default_uniform, default_uniform),
    "resnet20": (ResNet20, kaiming, default_uniform),
    "vgg16_bn": (Vgg16Bn, kaiming, small_normal),
}


def build(name, seed):
    """A float64 module whose weights are the float32 numbers that the C++ program draws from `seed`."""
    make, conv_rule, linear_rule = NETS[name]
    net = make().double()
    rules = {}
    for path, module in net.named_modules():
        rule = {nn.Conv2d: conv_rule, nn.Linear: linear_rule}.get(type(module))
        for tensor, init in (rule(module) if rule else {}).items():
            rules[f"{path}.{tensor}"] = init
    for ordinal, (tensor_name, tensor) in enumerate(named_state(net)):
        if tensor_name not in rules:
            continue  # batch norm begins at weight 1, bias 0, mean 0, variance 1
        kind, value = rules[tensor_name]
        if kind == "constant":
            tensor.data.fill_(value)
        else:
            draw = {"uniform": philox.uniform, "normal": philox.normal}[kind]
            values = draw(seed, philox.INITIALISATION, 0, ordinal, value, tensor.numel())
            tensor.data.copy_(torch.from_numpy(values.astype("float64")).view_as(tensor))
    return net


def named_state(net):
    """(name, tensor) of weights and BN statistics in state_dict order: the order of Graph::parameters."""
    return [(n, t) for n, t in net.state_dict(keep_vars=True).items() if not n.endswith("num_batches_tracked")]
