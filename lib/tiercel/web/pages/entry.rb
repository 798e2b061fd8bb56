# frozen_string_literal: true

require_relative "../../entry_report"
require_relative "../page"

module Tiercel
  class Web
    module Pages
      # The entry of one key in each tier.
      #
      # @private
      class Entry < Page
        page "Entry", "entry"

        private

        def tab = "/keys"

        def entry
          @entry ||= ask { tiercel? ? EntryReport.of_key(store, key).to_h : nil }
        end

        # A name goes through the store's namespace; a listed key already contains it.
        def key
          name = @request["name_key"]
          @key ||= name.empty? || !tiercel? ? @web.own(@request.key) : store.stored_key(name)
        rescue ArgumentError
          raise Request::BadRequest, "the name is blank"
        end

        def found = entry[:tiers].select { |tier| tier[:found] }

        def rows(tier)
          { "Size" => bytes(tier[:bytes]), "Type" => tier[:type], "Compressor" => tier[:compressor],
            "Expires" => expiry(tier), "Age" => tier[:age_seconds]&.then { |age| seconds(age) },
            "Version" => tier[:version]&.then { |version| text(version) } }.compact
        end

        def expiry(tier)
          left = tier[:ttl_seconds]
          return "never" if left.nil?
          left.negative? ? "expired #{seconds(-left)} ago" : "in #{seconds(left)}"
        end

        def tags(tier) = names(tier[:tags])
        def invalidated_tags(tier) = names(tier[:invalidated_tags])
        def names(tags) = EntryReport.tag_names(tags || [])
      end
    end
  end
end
