# frozen_string_literal: true

require_relative "../../backend"

module Tiercel
  module Backends
    class SQLite < Backend
      # Near tiers ask the file behind them who changed it, and mark the entries that they read near as used.
      module BehindTiers
        # @private
        # @param name [String] of the near segment that this process' changes belong to
        # @return [void]
        def member_name=(name)
          @access.members.name = name
        end

        # @private
        # @param since [Float] epoch seconds
        # @return [Array(Object, Boolean)] the same object while the file is open, and whether others than that
        #   segment's processes may have changed it since then
        def others_since(since)
          @access.read_in_place { |connection| [connection, @access.members.others?(connection, since)] }
        end

        def uses_wanted? = @hits.wanted

        def used(keys) = keys.each { |key| @hits.note_used(id_of(key)) }
      end
    end
  end
end
