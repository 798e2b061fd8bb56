# frozen_string_literal: true

require_relative "../../backend"

module Tiercel
  module Backends
    class SQLite < Backend
      # Methods for near tiers in front of the file: they find out who changed it, and mark entries that were read
      # near as used.
      module BehindTiers
        # @private
        # @param name [String] the near segment to which this process' changes are attributed
        # @return [void]
        def member_name=(name)
          @access.members.name = name
        end

        # @private
        # @param since [Float] epoch seconds
        # @return [Array(Object, Boolean)] an object that stays the same while the file is open, and whether processes
        #   outside that segment may have changed the file since then
        def others_since(since)
          @access.read_in_place { |connection| [connection, @access.members.others?(connection, since)] }
        end

        def uses_wanted? = @hits.wanted

        def used(keys) = keys.each { |key| @hits.note_used(@ids[key]) }
      end
    end
  end
end
