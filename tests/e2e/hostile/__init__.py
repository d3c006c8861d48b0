# SPDX-License-Identifier: GPL-2.0
"""A peer that means harm: it speaks the control channel from outside, without a kernel.

wire        the messages of include/devlend/wire_messages.h, packed
channel     both lanes over a puppet of ntbsim's: sessions, frames, calls
roles       lending and borrowing as an honest host does
lies        answers of a lender that no borrower may believe
attacks     what is said: random, changed, well-formed lies, floods
"""
