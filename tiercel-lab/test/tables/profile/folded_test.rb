# frozen_string_literal: true

require_relative "../../support/lab_case"
require "tiercel/lab"

class ProfileFoldedTest < LabCase
  Folded = Lab::Tables::Profile::Folded

  # Three stacks: two samples in the store, one in a function that it calls, four in the lab's own code.
  def test_stackprof_reports_are_folded_without_the_labs_own_frames
    frames = { 1 => "<main>", 2 => "Tiercel::Lab::Engine::Arm#run", 3 => "#<Class:0x00007f>#run", 4 => "Store#read",
               5 => "block in #<Class:0x00007f12;x>#get" }
    report = { frames: frames.transform_values { |name| { name: } },
               raw: [4, 1, 2, 3, 4, 2, 5, 1, 2, 3, 4, 5, 1, 2, 1, 9, 4] }
    assert_equal({ "loop;Store#read" => 2, "loop;Store#read;block in #<Class:0x,x>#get" => 1 },
                 Folded.from_stackprof(report))
  end

  Frame = Struct.new(:label)
  Stack = Struct.new(:frames)

  # Vernier lists the called function first, and has one index for equal stacks.
  def test_vernier_results_are_folded
    stacks = [%w[Store#read run Tiercel::Lab::Engine::Arm#run <main>], %w[run Tiercel::Lab::Engine::Arm#run <main>],
              %w[<main>]]
    result = Object.new
    result.define_singleton_method(:main_thread) { { samples: [0, 1, 0, 2], weights: [2, 1, 3, 9] } }
    result.define_singleton_method(:stack) { |index| Stack.new(stacks[index].map { |label| Frame.new(label) }) }
    assert_equal({ "loop;Store#read" => 5, "loop" => 1 }, Folded.from_vernier(result))
  end
end
