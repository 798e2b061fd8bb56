# frozen_string_literal: true

require "tiercel/lab/tables/selfcheck/table"
require_relative "../choice/view"

module Tiercel
  module Lab
    module Tables
      module Musts
        # The lab's own targets.
        module Targets
          floor "lab-3", "the lab's own noise floor, in-process, a full run on a quiet machine: within 3 %",
                value: "html-2kb", baseline: %w[memory_store read], at_most: 0.03
          elsewhere "lab-1", "a quick run takes at most 3 minutes, and no row says that it could not run",
                    command: "bin/lab --quick"
          kept "lab-selfcheck",
               "20 recordings of known work: no false verdict; 5 % more and rare pauses found in 18, kept " \
               "objects in 20",
               run: "selfcheck", command: "bin/lab selfcheck",
               judging: lambda { |results|
                 found = Selfcheck::View.new(results, command: "")
                 [found.state.to_sym, found.sentence]
               }
          kept "lab-all",
            "every table in its quick form within 15 minutes on two cores, and none that could not be made",
               run: "all", command: "bin/lab all --quick",
               judging: lambda { |results|
                 parts = results.fetch("parts", [])
                 seconds = parts.sum { |part| part["seconds"] }
                 whole = results["run"]["protocol"]["name"] == "quick" && parts.size == Tables.in_all.size
                 state = parts.all? { |part| part["state"] == "complete" } && seconds <= 900 ? :holds : :fails
                 [whole ? state : :undecided, "#{parts.size} tables in #{seconds.round} s"]
               }
          kept "lab-choice",
               "the first choice of a quick run costs at most 5 % more than the best of a full one in 8 of 10 " \
               "applications, breaks no constraint, and equal stores cannot be told apart",
               run: "choice", command: "bin/lab choice",
               judging: lambda { |results|
                 found = Choice::View.new(results, command: "")
                 [found.state, found.sentence]
               }
          elsewhere "lab-planted", "contestants that return wrong values, that miss, and that are slower are found",
                    command: "bin/test lab"
        end
      end
    end
  end
end
