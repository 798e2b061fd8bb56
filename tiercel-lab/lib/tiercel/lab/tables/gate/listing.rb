# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Gate
        # Lists the benchmarks that the files of a tree declare. A process of the tree loads the files, because they may
        # load an application.
        class Listing < Engine::Trial
          SECONDS = 2.0

          # @param tree [Tree]
          def initialize(tree, **)
            super(**)
            @tree = tree
          end

          private

          # @raise [CannotRun] if a file cannot be loaded
          def measure
            job = job("tables/gate/counter", bundle: @tree.bundle)
            found = job.call("list", files: @tree.files)
            raise CannotRun, "#{@tree.files.join(", ")}: #{found["reason"]}" unless Engine::Outcome.measured?(found)
            @rows = found["benchmarks"]
          ensure
            job&.stop
          end
        end
      end
    end
  end
end
