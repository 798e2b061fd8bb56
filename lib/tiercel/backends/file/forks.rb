# frozen_string_literal: true

module Tiercel
  module Backends
    class File < Backend
      # What has to happen to lock files around a fork. A lock of `flock` belongs
      # to the open file, which a child has in common with its parent: one that
      # kept it open would keep the lock of a parent that was killed.
      #
      # A child that Ruby does not know of (Process.daemon) opens files of its own
      # on the first call.
      module Forks
        # Goes before Ruby's own hook for forks.
        module Hook
          def _fork = super.tap { |pid| Forks.close_inherited if pid.zero? }
        end

        @stripes = ObjectSpace::WeakMap.new

        class << self
          # @param stripe [Stripe]
          def track(stripe) = @stripes[stripe] = true

          # Closes in a child every lock file of its parent.
          def close_inherited = @stripes.each_key(&:close_inherited)
        end

        Process.singleton_class.prepend(Hook)
      end
    end
  end
end
