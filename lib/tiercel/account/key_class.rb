# frozen_string_literal: true

module Tiercel
  class Account
    # The class of a key: its parts, with `*` in place of each part that may be private. A class shows the store's
    # namespace, the path of a template, the name of a model, and plain words that at least 20 different keys share.
    #
    #   views/products/show:9a0364b9e99bb480dd25e1f0284c8555/products/7  ->  views/products/show:*/products/*
    #   user:alice@example.com:inbox                                    ->  user:*:inbox
    #
    # @private
    class KeyClass
      # Only the first bytes of a longer key count.
      LONGEST = 512
      MOST_PARTS = 12
      SEPARATORS = %r{[:/?&=|, ]}
      # The path and the digest of a template in the name of an Action View fragment.
      TEMPLATE = %r{\Aviews/([A-Za-z0-9_\-/]{1,100}):\h{32}(?=/|\z)}
      MASK = "*"
      # Control characters, and characters that reverse or break a line.
      UNPRINTABLE = /[^[:print:]]|[\p{Cf}\p{Zl}\p{Zp}]/
      private_constant :SEPARATORS, :TEMPLATE, :MASK, :UNPRINTABLE

      # @param words [Words]
      # @param namespace [String, nil] the beginning of the store's keys
      def initialize(words, namespace = nil)
        @words = words
        @namespace = "#{namespace}:" if namespace.is_a?(String) || namespace.is_a?(Symbol)
        @shown_namespace = printable(@namespace.to_s)
      end

      # @param key [String] any bytes
      # @return [String] printable ASCII after the namespace
      def of(key)
        text = key.byteslice(0, LONGEST)
        text = text.dup.force_encoding(Encoding::UTF_8)
        text = text.b unless text.valid_encoding?
        return masked(text, key.hash, 0) unless @namespace && text.b.start_with?(@namespace.b)
        @shown_namespace + masked(text.byteslice(@namespace.bytesize, LONGEST), key.hash, 1)
      end

      # @param name [String] the name of a class
      # @return [Boolean] whether the name shows no part of its keys, except the namespace
      def other?(name) = !name.delete_prefix(@shown_namespace).match?(/[A-Za-z]/)

      private

      def masked(text, hash, position)
        template = TEMPLATE.match(text)
        return "views/#{template[1]}:*#{parts(template.post_match, hash, position + 2)}" if template
        parts(text, hash, position)
      end

      def parts(text, hash, position)
        separator = SEPARATORS.match?(text) || text.include?("@") ? SEPARATORS : /\./
        result = +""
        count = 0
        until text.empty?
          part, between, text = text.partition(separator)
          result << (shown?(part, position + count, hash) ? part : (part.empty? ? "" : MASK)) << between
          return result << MASK if (count += 1) >= MOST_PARTS && !text.empty?
        end
        result
      end

      def shown?(part, position, hash)
        part.ascii_only? && (models.key?(part) || @words.show?(part, position, hash))
      end

      # The names of the loaded Active Record models, as they appear in keys.
      def models
        return NO_MODELS unless defined?(::ActiveRecord::Base)
        loaded = ::ActiveRecord::Base.descendants.size
        return @models if @loaded == loaded
        @loaded = loaded
        @models = ::ActiveRecord::Base.descendants.each_with_object({}) do |model, names|
          names[model.model_name.cache_key] = true if model.name
        end
      end
      NO_MODELS = {}.freeze
      private_constant :NO_MODELS

      def printable(text) = text.scrub("?").gsub(UNPRINTABLE, "?")
    end
  end
end
