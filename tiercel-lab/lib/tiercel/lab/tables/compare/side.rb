# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Compare
        # One side of a comparison.
        #
        # @abstract Subclasses describe the side and make its contestants.
        class Side
          # Lets a contestant run with the bundle of a side, under the side's name.
          module Placed
            # @return [String, nil] path of a gemfile
            attr_reader :bundle
            # @return [String]
            attr_reader :name

            # @param name [String]
            # @param bundle [String, nil]
            # @return [self]
            def run_with(name, bundle)
              @name = name
              @bundle = bundle
              self
            end
          end

          # @return [String] the user's argument that names the side
          def text = raise(NotImplementedError)

          # @return [String] the kind of side, in words
          def kind = raise(NotImplementedError)

          # @return [Object] equal for sides that do not differ
          def fingerprint = raise(NotImplementedError)

          # @return [String] the reason why two sides with the same fingerprint run the same code
          def sameness = raise(NotImplementedError)

          # @return [Array<String>] names of the stores to measure, if the user gives none
          def stores = raise(NotImplementedError)

          # Builds the side, unless it is built already.
          #
          # @param progress [#say, nil]
          # @return [void]
          # @raise [CannotRun]
          def prepare(progress: nil); end

          # @param store [String] text of a contestant
          # @param again [Boolean] true for the null arm, which runs in its own worker
          # @return [Contestant]
          def contestant(store, again: false) = raise(NotImplementedError)

          # @return [Hash{String => Object}] the form of the results file
          def describe = { "text" => text, "kind" => kind }

          private

          def placed(store, gemfile) = Contestants.parse(store).extend(Placed).run_with("#{text}: #{store}", gemfile)
        end
      end
    end
  end
end
