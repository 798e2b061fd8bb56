# frozen_string_literal: true

# Shows the kind of a key in log lines and error reports, but not the key itself, which may contain an address or a
# name. The store's option `log_keys: true` shows keys.
#
#   views/products/show:9a0364b9e99bb480dd25e1f0284c8555/products/7  ->  views/products/show:*/products/*
#   user:alice@example.com                                           ->  *:*
#
# A mask shows only the path of a template and the names of loaded Active Record models, because every other word may be
# private.
module Tiercel::KeyMask
  MOST_BYTES = 512
  MOST_PARTS = 12
  SEPARATORS = %r{[:/?&=|, ]}
  # The path and the digest of a template in the key of a view's fragment.
  TEMPLATE = %r{(?:\A|:)views/([A-Za-z0-9_\-/]{1,100}):\h{32}(?=/|\z)}
  MASK = "*"
  private_constant :MOST_BYTES, :MOST_PARTS, :SEPARATORS, :TEMPLATE, :MASK

  class << self
    # @param key [String] any bytes
    # @return [String] printable ASCII
    def of(key)
      text = key.byteslice(0, MOST_BYTES).force_encoding(Encoding::UTF_8)
      text = text.b unless text.valid_encoding?
      template = TEMPLATE.match(text)
      return parts(text) unless template
      "#{"#{MASK}:" unless template.begin(0).zero?}views/#{template[1]}:#{MASK}#{parts(template.post_match)}"
    end

    private

    def parts(text)
      names = model_names
      shown = +""
      MOST_PARTS.times do
        part, separator, text = text.partition(SEPARATORS)
        shown << (part.empty? || names.include?(part) ? part : MASK) << separator
        return shown if text.empty?
      end
      shown << MASK
    end

    def model_names
      return [] unless defined?(::ActiveRecord::Base)
      ::ActiveRecord::Base.descendants.filter_map { |model| model.model_name.cache_key if model.name }
    end
  end
end
