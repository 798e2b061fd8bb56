# frozen_string_literal: true

# The faults of `rake mutants`: test/support/mutants.rb. Each names the promise that it breaks.
