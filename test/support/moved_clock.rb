# frozen_string_literal: true

require "tiercel/contracts/moved_clock"

MovedClock = Tiercel::Contracts::MovedClock
