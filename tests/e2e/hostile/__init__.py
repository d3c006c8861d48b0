# SPDX-License-Identifier: GPL-2.0
"""A peer that means harm: it speaks the control channel from outside, without a kernel.

wire        the messages of include/devlend/wire.h, packed
"""
