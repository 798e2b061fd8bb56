# frozen_string_literal: true

require "contracts/moved_clock"

MovedClock = Tiercel::Contracts::MovedClock
